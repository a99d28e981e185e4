package tickgate_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func reserve(t *testing.T, h tickgate.Handle, now clock.Time, n int64, delay time.Duration) tickgate.Reservation {
	t.Helper()
	r, err := h.ReserveAt(now, n)
	require.NoError(t, err)
	require.Equal(t, delay, r.Delay())
	require.Equal(t, n > 0, r.Decision().Allowed)
	return r
}

// Of 20 tokens and 10 a second: what a reservation in the middle took comes back
// whole, though others reserved after it.
func TestReserveCancelInTheMiddle(t *testing.T) {
	const tenth = 100 * time.Millisecond
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=20")
	h := handleOf(t, g, "k")
	reserve(t, h, c.Now(), 15, 0)
	middle := reserve(t, h, c.Advance(tenth), 10, 4*tenth)
	reserve(t, h, c.Advance(tenth), 2, 5*tenth)
	require.Equal(t, int64(0), left(g, "k"))
	middle.CancelAt(c.Advance(tenth))
	require.Equal(t, int64(6), left(g, "k"))
	require.Equal(t, 14*tenth, h.Take(0).ResetAfter)
}

func TestReserveCancelInReverse(t *testing.T) {
	for _, limits := range [][]string{{"60/s burst=1"}, {"60/s burst=1", "60/s burst=2 name=b"}} {
		g, c := gateOf(t, tickgate.Config{}, limits...)
		h := handleOf(t, g, "k")
		const one = 16_666_667 // ns, rounded up
		a := reserve(t, h, c.Now(), 1, 0)
		b := reserve(t, h, c.Now(), 1, one)
		last := reserve(t, h, c.Now(), 1, 2*one)
		last.CancelAt(c.Now())
		b.CancelAt(c.Now())
		require.Equal(t, int64(0), left(g, "k"))
		a.Cancel()
		require.Equal(t, int64(1), left(g, "k"))
		require.Zero(t, h.Take(0).ResetAfter)
	}
}

// Reserved tokens count for everybody who comes later, by whatever call.
func TestReserveIsWaitedFor(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/s burst=5")
	h := handleOf(t, g, "k")
	reserve(t, h, c.Now(), 5, 0)
	reserve(t, h, c.Now(), 5, 5*time.Second)
	r := reserve(t, h, c.Now(), 3, 8*time.Second)
	require.Equal(t, 9*time.Second, g.Take("k", endpoint, 1).RetryAfter)
	c.Advance(8 * time.Second)
	require.False(t, h.Allow())
	c.Advance(time.Second)
	require.True(t, h.Allow())
	r.Cancel()
	require.LessOrEqual(t, left(g, "k"), int64(3), "more than it took")
}

func TestReserveNumbers(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s reserve=4", "100/s name=b")
	h := handleOf(t, g, "k")
	nothing := reserve(t, h, c.Now(), 0, 0)
	nothing.CancelAt(c.Now())
	for n, want := range map[int64]error{-1: tickgate.ErrCost, math.MinInt64: tickgate.ErrCost, 7: tickgate.ErrTooCostly, math.MaxInt64: tickgate.ErrTooCostly} {
		r, err := h.ReserveAt(c.Now(), n)
		require.ErrorIs(t, err, want)
		r.Cancel() // the zero Reservation
		require.Zero(t, r.Delay())
		require.False(t, r.Decision().Allowed)
	}
	require.Equal(t, int64(6), left(g, "k"))
	reserve(t, h, c.Now(), 6, 0)
	reserve(t, h, c.Now(), 1, time.Second/10)
	require.True(t, h.TakeUrgentAt(c.Now(), 3).Allowed)
	require.False(t, h.TakeUrgentAt(c.Now(), 1).Allowed)
}

// The tokens of the slowest limit decide.
func TestReserveOfSeveralLimits(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=4 name=a", "1/s burst=6 name=b", "5/s burst=5 name=c")
	h := handleOf(t, g, "k")
	reserve(t, h, c.Now(), 4, 0)
	two := reserve(t, h, c.Now(), 2, 200*time.Millisecond) // by c and a are ready at 200
	require.Equal(t, "a", two.Decision().Limit)
	two.CancelAt(c.Now())
	three := reserve(t, h, c.Now(), 3, time.Second)
	require.Equal(t, "b", three.Decision().Limit)
	three.CancelAt(c.Now())
	// As after the first: 0, 2 and 1 are left.
	for limit, want := range map[string]time.Duration{"a": 400, "b": 2000, "c": 600} {
		d := h.TakeCostsAt(c.Now(), 0, tickgate.Cost{Limit: limit, N: 4})
		require.Equal(t, want*time.Millisecond, d.RetryAfter, limit)
	}
}

// Nothing can be reserved of windows: what is there is taken, what is not is an
// error, and charges nothing of the token bucket beside it.
func TestReserveOfWindows(t *testing.T) {
	for _, limits := range [][]string{
		{"5/s aligned"}, {"5/s from-first"}, {"5/s rolling"},
		{"5/s name=t", "5/s rolling"}, {"5/s aligned", "5/s name=t"}, {"5/s from-first", "9/s rolling", "5/s name=t"},
	} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, limits...)
		h := handleOf(t, g, "k")
		a := reserve(t, h, c.Now(), 3, 0)
		_, err := h.ReserveAt(c.Now(), 3)
		require.ErrorIs(t, err, tickgate.ErrNotAhead)
		_, err = h.ReserveAt(c.Now(), 6)
		require.ErrorIs(t, err, tickgate.ErrTooCostly)
		require.Equal(t, int64(2), left(g, "k"))
		a.CancelAt(c.Now())
		require.Equal(t, int64(5), left(g, "k"), "%v", limits)
	}
}

// Words hold a debt of more than a year; nothing is reserved beyond one.
func TestReserveOverAYearAhead(t *testing.T) {
	for _, limit := range []string{"1/d burst=300", "100/h burst=100", "7/s burst=1000000", "1000000000/s burst=1000000000"} {
		g, c := gateOf(t, tickgate.Config{}, limit)
		h := handleOf(t, g, "k")
		capacity := left(g, "k")
		reserve(t, h, c.Now(), capacity, 0)
		h.Charge(math.MaxInt64)
		before := h.Take(0)
		require.Greater(t, before.ResetAfter, time.Duration(year))
		_, err := h.ReserveAt(c.Now(), 1)
		require.ErrorIs(t, err, tickgate.ErrTooCostly)
		require.Equal(t, before.ResetAfter, h.Take(0).ResetAfter)
	}
	g, c := gateOf(t, tickgate.Config{}, "1/d")
	h := handleOf(t, g, "k")
	for i := range 366 {
		reserve(t, h, c.Now(), 1, time.Duration(i)*24*time.Hour)
	}
	_, err := h.ReserveAt(c.Now(), 1)
	require.ErrorIs(t, err, tickgate.ErrTooCostly)
	c.Advance(24 * time.Hour)
	reserve(t, h, c.Now(), 1, 365*24*time.Hour)
}

func TestReserveReleasedBlockedBanned(t *testing.T) {
	for _, limits := range [][]string{{"10/s"}, {"10/s rolling"}, {"10/s", "20/s name=b"}} {
		g, c := gateOf(t, tickgate.Config{}, limits...)
		h, other := handleOf(t, g, "k"), handleOf(t, g, "k")
		r := reserve(t, h, c.Now(), 4, 0)
		fails := func(want error) {
			t.Helper()
			_, err := h.ReserveAt(c.Now(), 1)
			require.ErrorIs(t, err, want)
		}
		g.Block("k")
		fails(tickgate.ErrBlocked)
		g.Unblock("k")
		g.Block("")
		fails(tickgate.ErrBlocked)
		g.Unblock("")
		h.Ban(c.Now().Add(time.Millisecond))
		fails(tickgate.ErrBanned)
		r.CancelAt(c.Now()) // that is no decision
		c.Advance(time.Millisecond)
		require.Equal(t, int64(10), left(g, "k"))
		h.Release()
		fails(tickgate.ErrReleased)
		require.Equal(t, int64(10), other.Take(0).Remaining)
	}
	_, err := tickgate.Handle{}.ReserveAt(0, 1)
	require.ErrorIs(t, err, tickgate.ErrReleased)
	tickgate.Reservation{}.Cancel()
	tickgate.Reservation{}.CancelAt(0)
}

// What is cancelled is there for those who come next. Those who reserved before keep
// the time they were told, so that the two may fall on one moment.
func TestReserveCancelLeavesOthersDelays(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1/s")
	h := handleOf(t, g, "k")
	reserve(t, h, c.Now(), 1, 0)
	second := reserve(t, h, c.Now(), 1, time.Second)
	third := reserve(t, h, c.Now(), 1, 2*time.Second)
	second.CancelAt(c.Now())
	require.Equal(t, 2*time.Second, third.Delay())
	reserve(t, h, c.Now(), 1, 2*time.Second)
}

// booked is what was taken, ahead or not.
type booked struct {
	tickgate.Reservation
	at   clock.Time
	n    int64
	gone bool // cancelled
}

// dues returns when each of all is there, in a bucket of l that never saw those that
// were cancelled. Nothing is rounded but the dues, up.
func dues(l policy.Limit, all []*booked) []clock.Time {
	var due []clock.Time
	used, last := new(big.Rat), clock.Time(0)
	for _, b := range all {
		if b.gone {
			due = append(due, 0)
			continue
		}
		came := big.NewRat(int64(b.at-last), 1)
		if used.Sub(used, came.Mul(came, big.NewRat(l.Tokens, int64(l.Per)))).Sign() < 0 {
			used.SetInt64(0)
		}
		last = b.at
		used.Add(used, big.NewRat(b.n, 1))
		over := new(big.Rat).Sub(used, big.NewRat(l.Capacity(), 1))
		over.Mul(over, big.NewRat(int64(l.Per), l.Tokens))
		ns, rest := new(big.Int).QuoRem(over.Num(), over.Denom(), new(big.Int))
		if rest.Sign() > 0 {
			ns.Add(ns, big.NewInt(1))
		}
		due = append(due, b.at.Add(max(0, time.Duration(ns.Int64()))))
	}
	return due
}

// Random scripts of reservations, takes and cancels. While nobody cancels, Delay is
// exact, and in any span no more is due than the limit allows. What is cancelled in
// its own instant comes back whole. What is cancelled later never makes anybody's
// tokens come earlier than if it had never been.
func TestReserveRandomScripts(t *testing.T) {
	for seed := range uint64(scaled(400, 60)) {
		r := rand.New(rand.NewPCG(seed, 11))
		limits := []policy.Limit{exactRates[seed%uint64(len(exactRates))]}
		if seed%3 == 0 {
			other := exactRates[r.IntN(len(exactRates))]
			other.Name = "other"
			limits = append(limits, other)
		}
		g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: limits}})
		h := handleOf(t, g, "k")
		most, perToken := int64(5), int64(1)
		for _, l := range limits {
			most, perToken = min(most, l.Capacity()), max(perToken, int64(l.Per)/l.Tokens)
		}
		cancels := seed%4 > 0
		var all []*booked
		book := func(n int64, res tickgate.Reservation) {
			all = append(all, &booked{Reservation: res, at: c.Now(), n: n})
			due := c.Now()
			for _, l := range limits {
				ds := dues(l, all)
				due = max(due, ds[len(ds)-1])
			}
			if told := c.Now().Add(res.Delay()); cancels {
				require.GreaterOrEqual(t, told, due, "seed %d", seed)
			} else {
				require.Equal(t, due, told, "seed %d", seed)
			}
		}
		for range 100 {
			if r.IntN(3) > 0 {
				c.Advance(time.Duration(r.Int64N(3*perToken + 2)))
			}
			n := 1 + r.Int64N(most)
			switch op := r.IntN(10); {
			case op < 4:
				res, err := h.ReserveAt(c.Now(), n)
				require.NoError(t, err)
				book(n, res)
			case op < 6:
				if h.AllowAt(c.Now(), n) {
					book(n, tickgate.Reservation{})
				}
			case op < 7:
				before := h.Take(0).ResetAfter
				res, err := h.ReserveAt(c.Now(), n)
				require.NoError(t, err)
				res.CancelAt(c.Now())
				require.Equal(t, before, h.Take(0).ResetAfter, "seed %d: not all came back", seed)
			case len(all) > 0 && cancels:
				if b := all[r.IntN(len(all))]; !b.gone && b.Decision().Allowed {
					b.gone = true
					b.CancelAt(c.Now())
				}
			}
		}
		if !cancels {
			require.Empty(t, over(limits[0], all), "seed %d", seed)
		}
	}
}

// over returns what of all is due in some span and is more than a token bucket of l
// allows there. It is empty if nothing is.
func over(l policy.Limit, all []*booked) string {
	for _, from := range all {
		for _, to := range all {
			begin, end, n := from.at.Add(from.Delay()), to.at.Add(to.Delay()), int64(0)
			for _, b := range all {
				if due := b.at.Add(b.Delay()); due >= begin && due <= end {
					n += b.n
				}
			}
			// n ≤ C + r·t
			over := new(big.Int).Mul(big.NewInt(n-l.Capacity()), big.NewInt(int64(l.Per)))
			came := new(big.Int).Mul(big.NewInt(int64(end-begin)), big.NewInt(l.Tokens))
			if end >= begin && over.Cmp(came) > 0 {
				return fmt.Sprintf("%s: %d in %v", l, n, end.Sub(begin))
			}
		}
	}
	return ""
}

// Reservations while the limit changes its kind, and is taken away: no taker may
// write what belongs to another kind into a word.
func TestReserveWhileKindsChange(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0), MaxKeys: 16}, "100/h name=a")
	h := handleOf(t, g, "k")
	var taking, took atomic.Int64
	taking.Store(4)
	sets := []policy.Set{
		setOf(t, "100/h name=a aligned"), setOf(t, "100/h name=a"), setOf(t, "100/h name=a from-first"), setOf(t, "100/h name=a"),
		setOf(t, "100/h name=a rolling"), setOf(t, "90/h burst=100 name=a"), setOf(t, "1000/h name=b", "100/h name=a", "900/h name=c"),
	}
	together(5, func(i int) {
		if i == 4 {
			for j := 0; taking.Load() > 0; j++ {
				require.NoError(t, g.Apply(sets[j%len(sets)]))
			}
			return
		}
		defer taking.Add(-1)
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("%v\n%s", p, debug.Stack())
			}
		}()
		for range scaled(20_000, 3000) {
			if r, err := h.ReserveAt(c.Now(), 1); err == nil && r.Delay() == 0 {
				took.Add(1)
			}
		}
	})
	require.LessOrEqual(t, took.Load(), int64(100))
	require.GreaterOrEqual(t, took.Load(), int64(95))
}
