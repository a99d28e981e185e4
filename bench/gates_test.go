package bench

import (
	"sync"
	"testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// endpointName is the endpoint of every call to a gate.
const endpointName = "order.new"

// callerTime is the name of the clock where the caller passes the time.
const callerTime = "caller"

// tsc is the one counter clock of a run: two clocks need not have one start, and
// a time passed to a gate must be of the gate's clock.
var tsc = sync.OnceValues(clock.NewTSC)

// runtimeClock is the one clock of the Go runtime of a run.
var runtimeClock = sync.OnceValue(clock.Runtime)

// clockNamed returns the clock of that name, and skips the benchmark where this
// machine does not have it. Where the caller passes the time, the gate's own
// clock does not matter.
func clockNamed(tb testing.TB, name string) clock.Clock {
	tb.Helper()
	if name != "tsc" {
		return runtimeClock()
	}
	c, err := tsc()
	if err != nil {
		tb.Skip(err)
	}
	return c
}

// policies is the one policy of a run.
func policies(l load.Limit) policy.Set {
	return policy.Set{{
		Endpoint: endpointName,
		Limits:   []policy.Limit{{Name: "rate", Tokens: l.Tokens, Per: l.Per, Burst: l.Burst}},
	}}
}

// newGate returns an empty gate for maxKeys keys. The caller closes it.
func newGate(tb testing.TB, clockName string, maxKeys int, l load.Limit) *tickgate.Gate {
	tb.Helper()
	g, err := tickgate.New(tickgate.Config{
		Policies: policies(l),
		MaxKeys:  maxKeys,
		Clock:    clockNamed(tb, clockName),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// gates makes the gates of a benchmark and closes them all at its end. A gate of
// many keys is filled once and measured through every path; a path with one key
// gets a gate of its own, because it leaves that key's time and tokens behind.
type gates struct {
	shared map[gateKey]*tickgate.Gate
	all    []*tickgate.Gate
}

type gateKey struct {
	clock   string
	keys    int
	outcome string
}

// get returns a gate in which every key has made one call.
func (gs *gates) get(tb testing.TB, clockName string, keys int, l load.Limit) *tickgate.Gate {
	tb.Helper()
	k := gateKey{clockName, keys, l.Outcome}
	if g := gs.shared[k]; g != nil {
		return g
	}
	g := newGate(tb, clockName, room(keys), l)
	gs.all = append(gs.all, g)
	for i := range keys {
		if !g.Allow(load.Key(i), endpointName) {
			tb.Fatalf("the first call of key %d of %d was denied", i, keys)
		}
	}
	if keys > 1 {
		if gs.shared == nil {
			gs.shared = map[gateKey]*tickgate.Gate{}
		}
		gs.shared[k] = g
	}
	return g
}

// room is the MaxKeys for a number of keys: the next power of two, at least the
// default of 10,000.
func room(keys int) int {
	n := 1
	for n < keys {
		n *= 2
	}
	return max(n, 10_000)
}

func (gs *gates) close(tb testing.TB) {
	for _, g := range gs.all {
		closeGate(tb, g)
	}
}

func closeGate(tb testing.TB, g *tickgate.Gate) {
	tb.Helper()
	if err := g.Close(); err != nil {
		tb.Error(err)
	}
}
