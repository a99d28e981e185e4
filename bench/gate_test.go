package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/clock"
)

// pathCase is one path with one clock, and what it is measured under.
type pathCase struct {
	path  string
	clock string
	keys  int
	limit load.Limit
	g     int
}

var pathCases = []pathCase{
	{"handle-at", callerTime, 1, load.Allow, 1},
	{"handle-at", callerTime, 1, load.Allow, 2},
	{"handle-at", callerTime, 1, load.Deny, 1},
	{"handle-at", callerTime, 1, load.Deny, 2},
	{"handle", "tsc", 1, load.Allow, 1},
	{"handle", "tsc", 1, load.Allow, 2},
	{"handle", "tsc", 1, load.Deny, 1},
	{"handle", "tsc", 1, load.Deny, 2},
	{"handle", "runtime", 1, load.Allow, 1},
	{"endpoint", "tsc", 1, load.Allow, 1},
	{"endpoint", "tsc", 1, load.Deny, 1},
	{"endpoint", "tsc", 10_000, load.Allow, 1},
	{"endpoint", "tsc", 1_000_000, load.Allow, 1},
	{"gate", "tsc", 1, load.Allow, 1},
	{"gate", "tsc", 1, load.Allow, 2},
	{"gate", "tsc", 1, load.Deny, 1},
	{"gate", "tsc", 1, load.Deny, 2},
	{"gate", "tsc", 10_000, load.Allow, 1},
	{"gate", "tsc", 10_000, load.Allow, 2},
	{"gate", "tsc", 10_000, load.Deny, 1},
	{"gate", "tsc", 10_000, load.Deny, 2},
	{"gate", "tsc", 1_000_000, load.Allow, 1},
	{"gate", "tsc", 1_000_000, load.Allow, 2},
	{"gate", "tsc", 1_000_000, load.Deny, 1},
	{"gate", "tsc", 1_000_000, load.Deny, 2},
	{"gate", "runtime", 1, load.Allow, 1},
	{"gate-copies", "tsc", 1, load.Allow, 1},
	{"batch", "tsc", 10_000, load.Allow, 1},
	{"batch", "tsc", 1_000_000, load.Allow, 1},
}

// BenchmarkGate measures every way of asking a gate for one token.
func BenchmarkGate(b *testing.B) {
	var gs gates
	defer gs.close(b)
	for _, c := range pathCases {
		var run calls // made by the first run, kept for the others
		b.Run(c.name(), func(b *testing.B) {
			if run == nil {
				run = c.calls(b, gs.get(b, c.clock, c.keys, c.limit))
			}
			drive(b, c.g, c.limit, run)
		})
	}
	benchmarkTrading(b)
	benchmarkShared(b)
	benchmarkFirstSeen(b)
}

// name is the case as part of a benchmark's name.
func (c pathCase) name() string {
	return fmt.Sprintf("path=%s/clock=%s/%s", c.path, c.clock, leaf(c.keys, c.limit, c.g))
}

// calls returns the loop of the path.
func (c pathCase) calls(tb testing.TB, g *tickgate.Gate) calls {
	tb.Helper()
	switch c.path {
	case "handle-at":
		return handleAtCalls(handleOf(tb, g))
	case "handle":
		return handleCalls(handleOf(tb, g))
	case "endpoint":
		return endpointCalls(g.Endpoint(endpointName), newStream(c.keys))
	case "gate":
		return gateCalls(g, newStream(c.keys))
	case "gate-copies":
		return gateCopiesCalls(g, newStream(c.keys))
	case "batch":
		return batchCalls(g, clockNamed(tb, c.clock), arrivals(c.keys))
	}
	tb.Fatalf("no path is named %s", c.path)
	return nil
}

func handleOf(tb testing.TB, g *tickgate.Gate) tickgate.Handle {
	tb.Helper()
	h, err := g.Handle(load.Key(0), endpointName)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

// handleAtCalls lets the caller's time go on by a nanosecond a call, and by two
// seconds from run to run, in which the bucket of load.Allow fills again. Two
// workers keep their own time: the one behind passes a time that is stale.
func handleAtCalls(h tickgate.Handle) calls {
	var next [2]clock.Time
	next[0] = clock.Time(time.Hour)
	next[1] = next[0]
	return func(w, n int) (allowed int) {
		now := next[w]
		for range n {
			now++
			allowed += count(h.AllowAt(now, 1))
		}
		next[w] = now + clock.Time(2*time.Second)
		return allowed
	}
}

func handleCalls(h tickgate.Handle) calls {
	return func(_, n int) (allowed int) {
		for range n {
			allowed += count(h.Allow())
		}
		return allowed
	}
}

func endpointCalls(e tickgate.Endpoint, s *stream) calls {
	return func(w, n int) (allowed int) {
		keys, i := s.keys, s.at[w].i
		for range n {
			if i == len(keys) {
				i = 0
			}
			allowed += count(e.Allow(keys[i]))
			i++
		}
		s.at[w].i = i
		return allowed
	}
}

func gateCalls(g *tickgate.Gate, s *stream) calls {
	return func(w, n int) (allowed int) {
		keys, i := s.keys, s.at[w].i
		for range n {
			if i == len(keys) {
				i = 0
			}
			allowed += count(g.Allow(keys[i], endpointName))
			i++
		}
		s.at[w].i = i
		return allowed
	}
}

// gateCopiesCalls is gateCalls where the name of the endpoint comes from
// another place in memory with every call, as when it is cut from a request,
// and not from a constant of the program.
func gateCopiesCalls(g *tickgate.Gate, s *stream) calls {
	var copies [1024]string
	for i := range copies {
		copies[i] = strings.Clone(endpointName)
	}
	return func(w, n int) (allowed int) {
		keys, i := s.keys, s.at[w].i
		for k := range n {
			if i == len(keys) {
				i = 0
			}
			allowed += count(g.Allow(keys[i], copies[k%len(copies)]))
			i++
		}
		s.at[w].i = i
		return allowed
	}
}
