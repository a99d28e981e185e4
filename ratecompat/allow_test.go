package ratecompat

import (
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAllowBurstAndRefill(t *testing.T) {
	l := NewLimiter(10, 5)
	requireTokens(t, 5, l, sec(0))
	require.Equal(t, 5, allowed(l, sec(0), 9))
	require.False(t, l.AllowN(sec(0.1).Add(-1), 1))
	require.True(t, l.AllowN(sec(0.1), 1))
	requireTokens(t, 2.5, l, sec(0.35))
	require.False(t, l.AllowN(sec(0.35), 3))
	require.True(t, l.AllowN(sec(0.35), 2))
	requireTokens(t, 5, l, sec(1e6))
	require.False(t, l.AllowN(sec(1e6), 6), "more than the burst")
}

func TestNegativeTakesNothing(t *testing.T) {
	l := NewLimiter(10, 5)
	require.Equal(t, 5, allowed(l, sec(0), 9))
	for _, n := range []int{-1, -100, math.MinInt} {
		require.False(t, l.AllowN(sec(0), n))
		require.False(t, l.ReserveN(sec(0), n).OK())
		require.ErrorContains(t, l.WaitN(t.Context(), n), "negative")
	}
	requireTokens(t, 0, l, sec(0))
}

func TestZeroOfNothingOwed(t *testing.T) {
	l := NewLimiter(1, 1)
	require.True(t, l.AllowN(sec(0), 0))
	require.True(t, l.AllowN(sec(0), 1))
	require.True(t, l.AllowN(sec(0), 0))
	require.Equal(t, time.Second, l.ReserveN(sec(0), 1).DelayFrom(sec(0)))
	require.False(t, l.AllowN(sec(0), 0), "a token is owed")
	require.Equal(t, time.Second, l.ReserveN(sec(0), 0).DelayFrom(sec(0)))
	require.True(t, l.AllowN(sec(1), 0))
}

func TestZeroLimiter(t *testing.T) {
	var l Limiter
	require.False(t, l.Allow())
	require.True(t, l.AllowN(sec(0), 0))
	require.False(t, l.Reserve().OK())
	require.Error(t, l.Wait(t.Context()))
	require.Zero(t, l.Tokens())
	require.Zero(t, l.Limit())
	require.Zero(t, l.Burst())

	l.SetBurstAt(sec(0), 10)
	require.Zero(t, allowed(&l, sec(1), 20), "it starts empty")
	l.SetLimitAt(sec(1), 10)
	require.Equal(t, 5, allowed(&l, sec(1.5), 20))
}

// golang.org/x/time/rate mints tokens here: each older time sets its clock back.
func TestStaleTimeMintsNothing(t *testing.T) {
	l := NewLimiter(10, 10)
	n := 0
	for i := range 200 {
		n += allowed(l, sec(float64(1-i%2)), 1)
	}
	require.Equal(t, 10, n)
}

func TestStaleTimeRandomWalk(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		l, n, least, most := NewLimiter(100, 7), 0, 5.0, 5.0
		for range 2000 {
			s := r.Float64() * 9.9
			least, most = min(least, s), max(most, s)
			n += allowed(l, sec(s), 1)
		}
		require.LessOrEqual(t, float64(n), 7+100*(most-least))
	}
}

// A late caller gets what is left at the latest time.
func TestLateCallerTakesWhatIsLeft(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(5), 9))
	require.True(t, l.AllowN(sec(2), 1))
	require.False(t, l.AllowN(sec(2), 1))
	require.Equal(t, 3*time.Second+100*time.Millisecond, l.ReserveN(sec(2), 1).DelayFrom(sec(2)), "it is late by 3 s")
}

// What an event far in the future does to a limiter ends with the machine's time.
func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, by := range []float64{12, 3600, 1e9, 9e9} {
			l, n := NewLimiter(10, 10), 0
			require.True(t, l.AllowN(sec(0), 1))
			n += allowed(l, sec(by), 100)
			for i := range 1000 {
				n += allowed(l, sec([]float64{0, by, by / 2, 1}[i%4]), 1)
			}
			require.Equal(t, 10, n, "no time passed")
			time.Sleep(time.Second)
			require.Equal(t, 10, allowed(l, sec(1), 100), "set back by %v s, a second later", by)
			time.Sleep(time.Hour)
			require.Equal(t, 10, allowed(l, sec(1), 100))
			allowed(l, sec(2), 100)
			for range 10 {
				time.Sleep(500 * time.Millisecond)
				require.Equal(t, 5, allowed(l, sec(2), 100), "nor does a clock that stands stop it")
			}
			if by < 1e9 {
				require.Equal(t, 10, allowed(l, sec(1e9), 100))
			}
		}
	})
}

func TestTokensAtChangesNothing(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(0), 10))
	for range 3 {
		requireTokens(t, 5, l, sec(0.5))
		requireTokens(t, 10, l, sec(1e9))
		requireTokens(t, 0, l, sec(-1e9))
		requireTokens(t, 0, l, sec(0))
	}
	require.False(t, l.AllowN(sec(0), 1))
}

// A denial leaves the time alone as well.
func TestDenialChangesNothing(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(0), 10))
	require.False(t, l.AllowN(sec(0.5), 6))
	require.False(t, l.AllowN(sec(0), 1))
	require.True(t, l.AllowN(sec(0.1), 1))
}

func TestNothingIsLostToFloats(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("the burst does not fit an int")
	}
	one := 1
	l := NewLimiter(1e9, one<<53+1)
	require.True(t, l.AllowN(sec(0), one<<53-5))
	require.Equal(t, 6, allowed(l, sec(0), 20))

	l = NewLimiter(1e6, 1e6)
	require.True(t, l.AllowN(sec(0), 1e6))
	require.False(t, l.AllowN(sec(12*3600), 1e6+1))
	require.True(t, l.AllowN(sec(12*3600), 1e6))
	require.False(t, l.AllowN(sec(12*3600), 1))
}

func TestAfterYears(t *testing.T) {
	for _, r := range []Limit{Every(24 * time.Hour), 1, 7, 63, 1e6, 1.9e9, 2e9, 63e7} {
		for _, years := range []float64{0.2, 0.9, 1, 2.3, 2.4, 4.7, 10, 50, 70, 72} {
			l := NewLimiter(r, 10)
			require.Equal(t, 10, allowed(l, sec(0), 20))
			at := sec(years * 365 * 24 * 3600)
			requireTokens(t, 10, l, at)
			require.Equal(t, 10, allowed(l, at, 20), "%v, %v years", r, years)
			require.False(t, l.AllowN(at, 1))
			require.Equal(t, 10, allowed(l, at.Add(11*24*time.Hour), 20))
		}
	}
}

func TestBoundOfRandomRates(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		limit := Limit(math.Exp(r.Float64() * 14))
		burst := 1 + r.IntN(50)
		l, n, s := NewLimiter(limit, burst), 0, 0.0
		for range 300 {
			s += r.ExpFloat64() / float64(limit)
			n += allowed(l, sec(s), 1+r.IntN(3))
		}
		require.LessOrEqual(t, float64(n), float64(burst)+float64(limit)*s*(1+1e-12)+1e-6, "%v burst %d", limit, burst)
		require.Greater(t, n, 100)
	}
}

func TestAllowAllocatesNothing(t *testing.T) {
	l := NewLimiter(1e6, 100)
	require.Zero(t, testing.AllocsPerRun(1000, func() { l.Allow() }))
	require.Zero(t, testing.AllocsPerRun(1000, func() { l.Tokens() }))
	ctx := t.Context()
	free := NewLimiter(1e9, 1e6)
	require.Zero(t, testing.AllocsPerRun(1000, func() { _ = free.Wait(ctx) }))
}
