package tickgate_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// together runs f in so many goroutines that start at once.
func together(goroutines int, f func(g int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range goroutines {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// Eight goroutines ask as fast as they can, by the real clock, by every way in.
// The bucket holds a second's tokens, so none is lost while nobody gets to run,
// and a last caller takes what is left at the end. All that may pass then passes.
func TestG4SaturationRealClock(t *testing.T) {
	const perSecond = 100_000
	for name, way := range map[string]func(*tickgate.Gate) func() bool{
		"handle": func(g *tickgate.Gate) func() bool { return handleOf(t, g, "k").Allow },
		"endpoint": func(g *tickgate.Gate) func() bool {
			e := g.Endpoint(endpoint)
			return func() bool { return e.Allow("k") }
		},
		"gate": func(g *tickgate.Gate) func() bool { return func() bool { return g.Allow("k", endpoint) } },
		"take": func(g *tickgate.Gate) func() bool { return func() bool { return g.Take("k", endpoint, 1).Allowed } },
	} {
		t.Run(name, func(t *testing.T) {
			c := clock.Default()
			g, err := tickgate.New(tickgate.Config{Policies: setOf(t, fmt.Sprintf("%d/s", perSecond)), Clock: c})
			require.NoError(t, err)
			allow := way(g)
			first := c.Now()
			admitted := atomic.Int64{}
			admitted.Store(int64(drain(allow))) // a full bucket loses what comes before somebody gets to run
			start := c.Now()
			end := start.Add(250 * time.Millisecond)
			together(8, func(int) {
				n := int64(0)
				for c.Now() < end {
					if allow() {
						n++
					}
				}
				admitted.Add(n)
			})
			came := perSecond + float64(c.Now().Sub(start))*perSecond/1e9
			admitted.Add(int64(drain(allow)))
			// A reading within a decision may be out of order by some nanoseconds.
			mayPass := perSecond + float64(c.Now().Sub(first)+time.Microsecond)*perSecond/1e9
			require.LessOrEqual(t, float64(admitted.Load()), mayPass)
			require.GreaterOrEqual(t, float64(admitted.Load()), 0.999*came-2)
		})
	}
}

// The same by a clock that another goroutine advances, as soon as somebody was
// denied: to the token.
func TestG4SaturationManualClock(t *testing.T) {
	for _, procs := range []int{1, 2, 4, 8} {
		t.Run(fmt.Sprintf("procs=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const perSecond, steps = 1000, 300
			const step = 7 * time.Millisecond
			g, c := gateOf(t, tickgate.Config{}, fmt.Sprintf("%d/s burst=50", perSecond))
			h := handleOf(t, g, "k")
			end := c.Now().Add(steps * step)
			var admitted, denied atomic.Int64
			admitted.Add(int64(drain(h.Allow))) // a full bucket would miss the first step
			together(9, func(i int) {
				if i == 8 {
					for c.Now() < end {
						c.Advance(step)
						for was := denied.Load(); denied.Load() == was; {
							runtime.Gosched()
						}
					}
					return
				}
				for {
					now := c.Now()
					ok := false
					if i%2 == 0 {
						ok = h.AllowAt(now, 1)
					} else {
						ok = g.TakeAt(now, "k", endpoint, 1).Allowed
					}
					if ok {
						admitted.Add(1)
					} else if denied.Add(1); now >= end {
						return
					}
					runtime.Gosched()
				}
			})
			require.Equal(t, int64(50+perSecond*steps*step/time.Second), admitted.Load()+int64(drain(h.Allow)))
		})
	}
}

// Two limits, takers of 1 to 3 tokens at once, the clock stands: never more than
// the smaller limit has, and at rest both have lost exactly what was admitted.
func TestG4TwoLimitsAllOrNothing(t *testing.T) {
	for round := range scaled(30, 6) {
		g, _ := gateOf(t, tickgate.Config{}, "1000/h name=large", "500/h name=small")
		h := handleOf(t, g, "k")
		admitted := atomic.Int64{}
		together(8, func(i int) {
			for j := range 400 {
				n := int64(1 + (i+j)%3)
				if j%2 == 0 && h.Take(n).Allowed || j%2 == 1 && g.AllowN("k", endpoint, n) {
					admitted.Add(n)
				}
			}
		})
		require.LessOrEqual(t, admitted.Load(), int64(500))
		require.Equal(t, 500-admitted.Load(), left(g, "k"), "round %d", round)
		require.NoError(t, g.Apply(setOf(t, "1000/h name=large")))
		require.Equal(t, 1000-admitted.Load(), left(g, "k"), "round %d: a denial changed the other limit", round)
	}
}

// One after the other: a denial by one limit leaves every level as it was.
func TestG4DenialLeavesLevels(t *testing.T) {
	names := []string{"a", "b", "c"}
	limits := []string{"100/h name=a", "50/h name=b", "20/h name=c"}
	g, c := gateOf(t, tickgate.Config{}, limits...)
	for _, n := range []int64{15, 6, 20, 5, 1, 1, 40} {
		g.Take("k", endpoint, n) // 15 and 5 pass
	}
	for i := range names {
		alone, err := tickgate.New(tickgate.Config{Clock: c, Policies: setOf(t, limits...)})
		require.NoError(t, err)
		for _, n := range []int64{15, 6, 20, 5, 1, 1, 40} {
			alone.Take("k", endpoint, n)
		}
		require.NoError(t, alone.Apply(setOf(t, limits[i])))
		d := alone.Take("k", endpoint, 0)
		require.Equal(t, names[i], d.Limit)
		require.Equal(t, []int64{80, 30, 0}[i], d.Remaining)
	}
}

// Refunds among takes: at rest nothing is lost and nothing was minted.
func TestG4RefundsAreExactAtRest(t *testing.T) {
	for _, limits := range [][]string{{"500/h"}, {"1000/h name=large", "500/h name=small"}} {
		g, _ := gateOf(t, tickgate.Config{}, limits...)
		h := handleOf(t, g, "k")
		kept := atomic.Int64{}
		together(8, func(i int) {
			for j := range 300 {
				if d := h.Take(1); d.Allowed {
					if (i+j)%4 != 0 {
						h.Refund(d)
					} else {
						kept.Add(1)
					}
				}
			}
		})
		require.Equal(t, 500-kept.Load(), left(g, "k"))
	}
}

// Keys come and go under eviction pressure while the clock runs: no key ever
// gets more than its bound, counted from outside.
func TestG4BoundUnderEviction(t *testing.T) {
	const keys = 24
	l := policy.Limit{Tokens: 1000, Per: time.Second, Burst: 3}
	g, c := gateWith(t, tickgate.Config{MaxKeys: 16}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
	start := c.Now()
	var admitted [keys]atomic.Int64
	together(8, func(i int) {
		for j := range scaled(20_000, 3000) {
			now := c.Advance(20 * time.Microsecond)
			k := (i*7 + j*5) % keys
			if g.TakeAt(now, fmt.Sprint(k), endpoint, 1).Allowed {
				admitted[k].Add(1)
			}
		}
	})
	forgiven := int64(g.Stats().Evictions.Forced) * l.Burst
	bound := l.Burst + int64(c.Now().Sub(start)/time.Millisecond) + forgiven
	for k := range admitted {
		require.LessOrEqual(t, admitted[k].Load(), bound, "key %d", k)
	}
}

// Every decision is counted once, also where all goroutines count at one key.
func TestG4CountsAreExact(t *testing.T) {
	const goroutines, calls = 64, 5000
	for range scaled(30, 10) {
		g, _ := gateOf(t, tickgate.Config{}, "1000000000/s")
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range calls {
					g.Allow("k", endpoint)
				}
			})
		}
		all.Wait()
		s := g.Stats().Policies[0]
		require.Equal(t, uint64(goroutines*calls), s.Allowed+s.Denied)
	}
}
