package tickgate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// More faults that users of other limiters reported, those of trading.

// running is a clock that runs as time does, be it that of a bubble.
type running struct{ begun time.Time }

func (r running) Now() clock.Time { return clock.Time(time.Hour + time.Since(r.begun)) }

// runningGate is a gate in a bubble whose clock runs.
func runningGate(t testing.TB, limits ...string) (*tickgate.Gate, tickgate.Handle) {
	g, err := tickgate.New(tickgate.Config{
		MaxKeys: 10, Clock: running{time.Now()}, Wall: clock.NewManualWall(0), Policies: setOf(t, limits...),
	})
	require.NoError(t, err)
	return g, handleOf(t, g, "k")
}

func reservedAt(t testing.TB, h tickgate.Handle, now clock.Time, n int64) tickgate.Reservation {
	r, err := h.ReserveAt(now, n)
	require.NoError(t, err)
	return r
}

// A reservation that is cancelled gives less back than it took: golang/go #56924,
// golang/go #69419.
func TestFaultCancelRestoresTooLittle(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=20")
	h := handleOf(t, g, "k")
	reservedAt(t, h, c.Now(), 15)
	ten := reservedAt(t, h, c.Advance(100*time.Millisecond), 10)
	reservedAt(t, h, c.Advance(100*time.Millisecond), 2)
	c.Advance(100 * time.Millisecond)
	ten.CancelAt(c.Now())
	require.Equal(t, int64(6), left(g, "k"))
}

// Reservations that are cancelled leave a debt: gocryptotrader #2371.
func TestFaultRollbackLeavesDebt(t *testing.T) {
	for _, order := range [][]int{{2, 1, 0}, {0, 1, 2}, {1, 2, 0}} {
		g, c := gateOf(t, tickgate.Config{}, "60/s burst=1")
		h := handleOf(t, g, "k")
		var made []tickgate.Reservation
		for range 3 {
			made = append(made, reservedAt(t, h, c.Now(), 1))
		}
		for _, i := range order {
			made[i].CancelAt(c.Now())
		}
		require.Equal(t, int64(1), left(g, "k"), "%v", order)
	}
}

// One key keeps what a denied request took from it before another key said no:
// symfony/symfony #65796, wso2 #3116, milvus-io/milvus #25597.
func TestFaultPartialConsumeOverKeys(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		for _, shape := range []struct {
			limits [2]string
			sends  int
			passed int64
		}{{[2]string{"1/h", "10/h"}, 20, 1}, {[2]string{"4/h", "2/m"}, 6, 2}} {
			_, c, hs := joinedGate(t, tickgate.Config{}, []string{shape.limits[0] + kind}, []string{shape.limits[1] + kind})
			for _, j := range []tickgate.Group{joinOf(t, hs[0], hs[1]), joinOf(t, hs[1], hs[0])} {
				passed := int64(0)
				var given []tickgate.Decision
				for range shape.sends {
					if d := j.TakeAt(c.Now(), 1); d.Allowed {
						passed++
						given = append(given, d)
					}
				}
				require.Equal(t, shape.passed, passed)
				for _, h := range hs {
					l := h.Take(0)
					require.Contains(t, []int64{0, 10 - passed, 4 - passed}, l.Remaining, "%v%s: used by denied sends", shape.limits, kind)
				}
				for _, d := range given {
					j.Refund(d)
				}
			}
		}
	}
}

// The rate is changed, and those who wait already go on waiting by the old one:
// golang/go #23575.
func TestFaultRateChangedWithWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, h := runningGate(t, "1/s name=rate burst=1")
		require.True(t, h.Allow())
		begun := time.Now()
		var served [3]time.Duration
		wait := func(i int) {
			require.NoError(t, h.Wait(t.Context(), 1))
			served[i] = time.Since(begun)
		}
		go wait(0) // due at 1 s
		synctest.Wait()
		go wait(1) // due at 2 s
		synctest.Wait()
		require.NoError(t, g.Apply(setOf(t, "1000/s name=rate burst=1")))
		go wait(2)
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, [3]time.Duration{time.Millisecond, 2 * time.Millisecond, 3 * time.Millisecond}, served)
	})
}

// Who is first in line gives up, and nobody behind it is ever served: nautilus_trader
// #2285, PyrateLimiter #108.
func TestFaultHeadWaiterGivesUp(t *testing.T) {
	for _, l := range []string{"1/s", "1/s aligned", "1/s from-first", "1/s rolling"} {
		synctest.Test(t, func(t *testing.T) {
			_, h := runningGate(t, l)
			require.True(t, h.Allow())
			begun := time.Now()
			ctx, giveUp := context.WithCancel(t.Context())
			head, next := make(chan error, 1), make(chan error, 1)
			go func() { head <- h.Wait(ctx, 1) }()
			synctest.Wait()
			go func() { next <- h.Wait(t.Context(), 1) }()
			synctest.Wait()
			time.Sleep(500 * time.Millisecond)
			giveUp()
			require.ErrorIs(t, <-head, context.Canceled)
			require.NoError(t, <-next)
			require.Equal(t, time.Second, time.Since(begun), "%s: it has the token that the head did not take", l)
		})
	}
}

// A limit counts in another kind of window than the venue: boinkor-net/governor #219.
func TestFaultWrongKindOfWindow(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "100/10s aligned")
	c.Advance(9900 * time.Millisecond) // :09.9
	require.True(t, g.AllowN("k", endpoint, 100))
	c.Advance(100 * time.Millisecond)
	require.True(t, g.AllowN("k", endpoint, 100))
	c.Advance(100 * time.Millisecond)
	d := g.Take("k", endpoint, 1)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, 9900*time.Millisecond, d.RetryAfter)
}

// What the venue counted is set without what was sent since, or into a window that it
// is not of: ccxt #28392.
func TestFaultDriftAgainstTheVenue(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "6000/m aligned name=weight")
	h := handleOf(t, g, "k")
	a := h.TakeAt(c.Now(), 50)
	require.True(t, h.TakeAt(c.Now(), 100).Allowed)
	h.SyncUsed(a, "weight", 70)
	require.Equal(t, int64(6000-170), left(g, "k"))

	b := h.TakeAt(c.Now(), 1)
	c.Advance(time.Minute)
	h.SyncUsed(b, "weight", 5990)
	require.Equal(t, int64(6000), left(g, "k"), "the new window stays 0")
	require.True(t, h.TakeAt(c.Now(), 10).Allowed)
	h.SyncUsed(b, "weight", 5990)
	require.Equal(t, int64(5990), left(g, "k"))
}

// New orders use up all there is, and cancels do not get out: hummingbot #4224.
func TestFaultCancelsStarved(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "5/s reserve=2"+kind)
		h := handleOf(t, g, "k")
		var got []bool
		for range 4 {
			got = append(got, h.TakeAt(c.Now(), 1).Allowed)
		}
		for range 3 {
			got = append(got, h.TakeUrgentAt(c.Now(), 1).Allowed)
		}
		require.Equal(t, []bool{true, true, true, false, true, true, false}, got, kind)
	}
}

// The same limit twice in one request, and two requests that take the same two
// limits in turn: clipperhouse/rate.
func TestFaultSameLimitTwice(t *testing.T) {
	_, _, hs := joinedGate(t, tickgate.Config{}, []string{"100000/h"}, []string{"100000/h"})
	_, err := tickgate.Join(hs[0], hs[0])
	require.Error(t, err)
	forth, back := joinOf(t, hs[0], hs[1]), joinOf(t, hs[1], hs[0])
	var passed atomic.Int64
	together(2, func(i int) {
		j := []tickgate.Group{forth, back}[i]
		for range 20_000 {
			if j.Allow() {
				passed.Add(1)
			}
		}
	})
	require.Equal(t, int64(40_000), passed.Load())
	for _, h := range hs {
		require.Equal(t, int64(60_000), h.Take(0).Remaining)
	}
}
