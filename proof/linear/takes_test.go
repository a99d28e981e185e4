package linear

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// shape is a limit and a clock.
type shape struct {
	name   string
	tokens int64
	per    time.Duration
	burst  int64
	tick   time.Duration
}

// The refill of a token is a few ticks, so that the key is full, hence evicted,
// again and again. Ticks longer than the grain date nearly every call for certain.
var shapes = []shape{
	{"one", 1, 400 * time.Microsecond, 1, 100 * time.Microsecond},
	{"three", 1, 400 * time.Microsecond, 3, 100 * time.Microsecond},
	{"odd rate", 7, 2_800_001, 2, 70 * time.Microsecond},
	{"within grain", 1, 100 * time.Microsecond, 2, 20 * time.Microsecond},
}

func (s shape) limit() policy.Limit {
	return policy.Limit{Name: label, Tokens: s.tokens, Per: s.per, Burst: s.burst}
}

func (s shape) spec() *spec {
	m := &spec{limit: limit{s.tokens, int64(s.per), s.burst}, tick: int64(s.tick), grain: grain}
	if m.tick <= grain {
		m.lag = grain
	}
	return m
}

// rounds runs n histories with changing numbers of processors. A history during
// which a key was dropped that owed is not one that the specification covers; the
// tests are made so that this is rare.
func rounds(t *testing.T, n int, f func(seed uint64) (forced uint64)) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	skipped := 0
	undecided = 0
	for i := range n {
		runtime.GOMAXPROCS([]int{2, 4, 8}[i%3])
		if f(uint64(i)) > 0 {
			skipped++
		}
	}
	require.LessOrEqual(t, skipped, n/2, "histories with forced evictions")
	require.LessOrEqual(t, undecided, n/10, "histories that took too long to judge")
}

// undecided counts histories of the seeded build that took too long to judge.
var undecided int

func requireLinearizable(t *testing.T, m *spec, ops []*op, start int64) {
	got := m.check(ops)
	if got == porcupine.Unknown && os.Getenv(seedVar) != "" {
		undecided++
		return
	}
	if got != porcupine.Ok {
		require.Fail(t, fmt.Sprintf("history is not linearizable (%v), %+v", got, *m), m.stuck(ops, start))
	}
}

func TestTakes(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			var stats coverage
			rounds(t, histories, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				r.most = s.spec().limit.token()
				ops := r.run(seed, func(c *caller) {
					for range 30 {
						c.take(nil, 0, c.rand.Int64N(3)%(s.burst+1))
						if c.rand.IntN(2) == 0 {
							c.pass(16)
						}
					}
				})
				st := r.gate.Stats()
				if r.unjudged() == 0 {
					requireLinearizable(t, s.spec(), ops, r.start)
				}
				stats.add(ops, st.Misses)
				return r.unjudged()
			})
			stats.require(t, 0)
			require.Positive(t, stats.returns, "returns after an eviction")
		})
	}
}

// coverage counts what histories had in them.
type coverage struct {
	ops, allowed, denied, looks, refunds, returns, overlaps, late int

	still bool // the clock stands still during calls
}

func (c *coverage) add(ops []*op, misses uint64) {
	c.returns += max(0, int(misses)-1)
	for i, o := range ops {
		c.ops++
		switch {
		case o.kind == refund:
			c.refunds++
		case o.n == 0:
			c.looks++
		case o.got.allowed:
			c.allowed++
		default:
			c.denied++
		}
		if i > 0 && ops[i-1].ret > o.call {
			c.overlaps++
		}
		if o.kind == take && o.now < o.lo {
			c.late++
		}
	}
}

// require makes sure that the histories had in them what they are about: a key that
// came back after an eviction, callers whose time was old, calls at one time, and so
// many refunds.
func (c *coverage) require(t *testing.T, refunds int) {
	t.Logf("%+v", *c)
	require.Positive(t, c.allowed)
	require.Positive(t, c.denied)
	if !c.still {
		require.Positive(t, c.late, "calls with an old time")
	}
	require.GreaterOrEqual(t, c.refunds, refunds)
	if !testing.Short() {
		require.Positive(t, c.overlaps, "calls that overlap")
	}
}

// requireReturns makes sure that the key was evicted and came back.
func (c *coverage) requireReturns(t *testing.T) {
	if !testing.Short() {
		require.Positive(t, c.returns, "returns after an eviction")
	}
}
