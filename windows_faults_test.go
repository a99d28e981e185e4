package tickgate_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Kinds of faults that were reported without a case.

// The machine is suspended: the gate's clock stands still or jumps, the wall clock
// jumps. Afterwards there is one capacity, not one for each period that was slept
// through, and nobody waits for what was before.
func TestFaultSuspendAndResume(t *testing.T) {
	for _, l := range []string{"10/s", "10/s aligned", "10/s aligned skew=50ms", "10/s from-first", "10/s rolling"} {
		for _, stands := range []bool{false, true} {
			wall := clock.NewManualWall(0)
			g, c := gateOf(t, tickgate.Config{Wall: wall}, l)
			c.Advance(100 * time.Millisecond)
			require.Equal(t, 10, drain(func() bool { return g.Allow("k", endpoint) }))
			if stands {
				wall.SetOffset(8 * time.Hour)
				require.False(t, g.Allow("k", endpoint), "%s: the gate's clock stood", l)
				c.Advance(2 * time.Second)
			} else {
				c.Advance(8 * time.Hour)
			}
			require.Equal(t, 10, drain(func() bool { return g.Allow("k", endpoint) }), l)
			require.LessOrEqual(t, g.Take("k", endpoint, 1).RetryAfter, 1100*time.Millisecond)
		}
	}
}

// Those who stop waiting keep their place, or what they waited for.
func TestFaultAbandonedWaiters(t *testing.T) {
	for _, l := range []string{"10/s", "10/s aligned", "10/s from-first", "10/s rolling"} {
		synctest.Test(t, func(t *testing.T) {
			_, h := runningGate(t, l)
			require.True(t, h.AllowAt(running{time.Now()}.Now(), 10))
			ctx, abandon := context.WithCancel(t.Context())
			done := make(chan error, 50)
			for range 50 {
				go func() { done <- h.Wait(ctx, 5) }()
			}
			synctest.Wait()
			abandon()
			for range 50 {
				require.ErrorIs(t, <-done, context.Canceled)
			}
			time.Sleep(time.Second)
			require.Equal(t, 10, drain(h.Allow), l)
		})
	}
}

// A request above the capacity waits for ever, and all behind it.
func TestFaultRequestAboveTheCapacity(t *testing.T) {
	for _, l := range []string{"5/s", "5/s aligned", "5/s from-first", "5/s rolling", "7/s reserve=2"} {
		synctest.Test(t, func(t *testing.T) {
			g, h := runningGate(t, l)
			begun := time.Now()
			require.ErrorIs(t, h.Wait(t.Context(), 6), tickgate.ErrTooCostly)
			_, err := h.ReserveAt(running{begun}.Now(), 6)
			require.ErrorIs(t, err, tickgate.ErrTooCostly)
			d := h.Take(6)
			require.Equal(t, tickgate.TooCostly, d.Reason)
			require.Equal(t, tickgate.Never, d.RetryAfter)
			require.False(t, g.AllowN("k", endpoint, 6))
			require.NoError(t, h.Wait(t.Context(), 5))
			require.Zero(t, time.Since(begun), "%s: nothing was taken by what cannot pass", l)
		})
	}
}

// Periods are cut to whole seconds, and times between tokens to whole milliseconds or
// nanoseconds, so that the rate is another one.
func TestFaultTruncatedPeriods(t *testing.T) {
	count := func(l policy.Limit, span time.Duration) (n int) {
		g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
		n = drain(func() bool { return g.Allow("k", endpoint) })
		for end := c.Now().Add(span); ; {
			wait := g.Take("k", endpoint, 1).RetryAfter
			if c.Now().Add(wait) > end {
				return n
			}
			c.Advance(wait)
			n += drain(func() bool { return g.Allow("k", endpoint) })
		}
	}
	for _, w := range []policy.Window{policy.TokenBucket, policy.Aligned, policy.FromFirst, policy.Rolling} {
		// 1,500 ms are no second, and no two. The first and the last begin the spans.
		require.Equal(t, 3*101, count(policy.Limit{Tokens: 3, Per: 1500 * time.Millisecond, Window: w}, 150*time.Second), w.String())
	}
	for _, rate := range []int64{7, 3, 61} { // n tokens a second come n a second, however they divide
		l := policy.Limit{Tokens: rate, Per: time.Second, Burst: 2}
		require.Equal(t, int(10*rate+2), count(l, 10*time.Second), "%d/s", rate)
	}
}

// A limit that is raised comes into force with the next period only, or grants its
// whole capacity anew.
func TestFaultLimitsRaisedLive(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h name=a"+kind)
		h := handleOf(t, g, "k")
		require.True(t, h.AllowAt(c.Now(), 10))
		require.NoError(t, g.Apply(setOf(t, "15/h name=a"+kind)))
		require.Equal(t, 5, drain(h.Allow), kind)
		require.NoError(t, g.Apply(setOf(t, "10/h name=a"+kind)))
		require.False(t, h.Allow())
		require.NoError(t, g.Apply(setOf(t, "20/h name=a"+kind)))
		require.Equal(t, 5, drain(h.Allow), kind)
	}
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		synctest.Test(t, func(t *testing.T) { // who waits gets it at once
			g, h := runningGate(t, "1/h name=a"+kind)
			require.True(t, h.Allow())
			begun := time.Now()
			done := make(chan error, 1)
			go func() { done <- h.Wait(t.Context(), 1) }()
			synctest.Wait()
			require.NoError(t, g.Apply(setOf(t, "5/h name=a"+kind)))
			require.NoError(t, <-done)
			require.Zero(t, time.Since(begun), kind)
		})
	}
}

// A small request that comes later is served before a large one that waits, again
// and again.
func TestFaultOvertaking(t *testing.T) {
	for _, l := range []string{"10/s", "10/s aligned", "10/s from-first", "10/s rolling"} {
		synctest.Test(t, func(t *testing.T) {
			_, h := runningGate(t, l)
			require.True(t, h.AllowAt(running{time.Now()}.Now(), 9))
			order := make(chan int64, 4)
			for _, n := range []int64{10, 1, 7, 2} {
				go func() {
					require.NoError(t, h.Wait(t.Context(), n))
					order <- n
				}()
				synctest.Wait()
			}
			for _, n := range []int64{10, 1, 7, 2} {
				require.Equal(t, n, <-order, l)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // nor does a call that does not wait, of a bucket
		_, h := runningGate(t, "10/s")
		require.True(t, h.AllowAt(running{time.Now()}.Now(), 10))
		begun := time.Now()
		done := make(chan time.Duration, 1)
		go func() {
			require.NoError(t, h.Wait(t.Context(), 10))
			done <- time.Since(begun)
		}()
		synctest.Wait()
		for range 9 {
			time.Sleep(100 * time.Millisecond)
			require.False(t, h.Allow())
		}
		require.Equal(t, time.Second, <-done)
	})
}

// The venue's clock lags ours, and messages take their time: what fits our windows
// does not fit the venue's.
func TestFaultPhaseSkew(t *testing.T) {
	const per, skew = time.Second, 100 * time.Millisecond
	for _, kind := range []string{" aligned", " from-first", " rolling"} {
		for round := range scaled(60, 12) {
			r := rand.New(rand.NewPCG(71, uint64(round)))
			g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/s skew=100ms"+kind)
			h := handleOf(t, g, "k")
			lag := time.Duration(r.Int64N(int64(skew) + 1)) // the venue's clock, at first
			var stamps []clock.Time
			for range 400 {
				c.Advance(time.Duration(r.Int64N(int64(40 * time.Millisecond))))
				n := 1 + r.Int64N(4)
				if r.IntN(10) == 0 {
					n = 10
				}
				if r.IntN(2) == 0 { // some venues' clocks waver by as much
					lag = time.Duration(r.Int64N(int64(skew) + 1))
				}
				at := c.Now().Add(-lag)
				if k := len(stamps); k > 0 {
					at = max(at, stamps[k-1])
				}
				if h.AllowAt(c.Now(), n) {
					for range n {
						stamps = append(stamps, at)
					}
				}
			}
			require.Greater(t, len(stamps), 50)
			requireVenueAdmits(t, kind, stamps, per, 10)
		}
	}
}

// requireVenueAdmits counts stamps, which are in order, as a venue does.
func requireVenueAdmits(t *testing.T, kind string, stamps []clock.Time, per time.Duration, most int) {
	t.Helper()
	n, start := 0, clock.Time(-1<<62)
	for i, at := range stamps {
		switch kind {
		case " aligned":
			if window := at - at%clock.Time(per); window != start {
				n, start = 0, window
			}
		case " from-first":
			if at >= start+clock.Time(per) {
				n, start = 0, at
			}
		case " rolling":
			n = 0
			for j := i; j >= 0 && at-stamps[j] < clock.Time(per); j-- {
				n++
			}
			n--
		}
		n++
		require.LessOrEqual(t, n, most, "%s: message %d at %d", kind, i, at)
	}
}

// A venue weighs a cancel by the age of its order, and the limiter by nothing.
func TestFaultWeightsByOrderAge(t *testing.T) {
	weight := func(age time.Duration) int64 {
		switch {
		case age < 5*time.Second:
			return 8
		case age < 10*time.Second:
			return 6
		case age < 15*time.Second:
			return 5
		}
		return 1
	}
	g, c := gateOf(t, tickgate.Config{}, "60/m burst=60 name=counter", "1000/d name=orders")
	h := handleOf(t, g, "k")
	placed := c.Now()
	for _, age := range []time.Duration{0, 5 * time.Second, 12 * time.Second, 20 * time.Second} {
		c.Set(placed.Add(age))
		d := h.TakeCostsAt(c.Now(), 1, tickgate.Cost{Limit: "counter", N: weight(age)})
		require.True(t, d.Allowed)
	}
	// 8 − 5 + 6 − 7 + 5 − 8 + 1: what decays between does not go below nothing.
	require.Equal(t, int64(59), h.TakeCostsAt(c.Now(), 0, tickgate.Cost{Limit: "orders"}).Remaining)
	// One that turned out heavier is charged after the fact.
	h.ChargeLimit("counter", 7)
	require.Equal(t, int64(52), left(g, "k"))
}

// The venue answers 429, and others of the same key go on sending.
func TestFaultVenuesRefusalIgnored(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1000/s")
	h, again := handleOf(t, g, "k"), handleOf(t, g, "k")
	require.True(t, h.Allow())
	h.Ban(c.Now().Add(30 * time.Second)) // Retry-After: 30
	for _, at := range []time.Duration{0, 10 * time.Second, 19*time.Second + 999*time.Millisecond} {
		c.Advance(at)
		require.False(t, again.Allow())
		require.False(t, g.Allow("k", endpoint))
		require.False(t, h.TakeUrgentAt(c.Now(), 1).Allowed)
		require.True(t, g.Allow("another", endpoint))
	}
	c.Advance(time.Millisecond)
	require.True(t, again.Allow())
}

// What was decided in time lies in a buffer, and reaches the venue in a bunch.
func TestFaultBuffering(t *testing.T) {
	const per, most = time.Second, 200 * time.Millisecond
	for round := range scaled(60, 12) {
		r := rand.New(rand.NewPCG(72, uint64(round)))
		g, c := gateOf(t, tickgate.Config{}, "10/s rolling skew=200ms")
		h := handleOf(t, g, "k")
		var stamps []clock.Time
		flush := c.Now()
		for range 500 {
			c.Advance(time.Duration(r.Int64N(int64(60 * time.Millisecond))))
			if c.Now() > flush {
				flush = c.Now().Add(time.Duration(r.Int64N(int64(most) + 1)))
			}
			for range r.IntN(12) {
				if h.Allow() {
					stamps = append(stamps, flush) // all that is in the buffer goes at once
				}
			}
		}
		requireVenueAdmits(t, " rolling", stamps, per, 10)
	}
}

// An order whose reply was lost is sent again, and counts once here and twice at the
// venue. That one of the two is given back is no news about the other; which one was
// is for the caller to remember.
func TestFaultBlindResends(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h"+kind)
		h := handleOf(t, g, "k")
		first := h.TakeAt(c.Now(), 1)
		second := h.TakeAt(c.Now(), 1) // the same order
		require.Equal(t, uint64(2), second.Seq)
		require.Equal(t, int64(8), left(g, "k"))
		h.Refund(first)
		require.Equal(t, int64(9), left(g, "k"), kind)
	}
}

// A flush that failed is retried: what was charged is charged again, what was denied
// is not charged at all, and what is given back is given back once.
func TestFaultFlushRetried(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h rolling")
	reqs := []tickgate.Request{{APIKey: "k", Endpoint: endpoint, N: 3}, {APIKey: "k", Endpoint: endpoint, N: 9}, {APIKey: "l", Endpoint: endpoint, N: 4}}
	out := make([]tickgate.Decision, len(reqs))
	for flush := range int64(2) {
		g.TakeBatch(c.Now(), reqs, out)
		require.Equal(t, []bool{true, false, true}, []bool{out[0].Allowed, out[1].Allowed, out[2].Allowed})
		require.Equal(t, 10-3*(flush+1), left(g, "k"))
		require.Equal(t, 10-4*(flush+1), left(g, "l"))
	}
	h := handleOf(t, g, "k")
	for _, d := range out {
		h.Refund(d) // of the three, one is this key's admission
	}
	require.Equal(t, int64(7), left(g, "k"))
}
