package ratecompat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetBurstKeepsWhatIsLeft(t *testing.T) {
	l := NewLimiter(1, 10)
	require.True(t, l.AllowN(sec(0), 3))
	l.SetBurstAt(sec(0), 20)
	requireTokens(t, 7, l, sec(0))
	requireTokens(t, 20, l, sec(13))
	l.SetBurstAt(sec(0), 5)
	requireTokens(t, 5, l, sec(0))
	l.SetBurstAt(sec(0), 10)
	requireTokens(t, 5, l, sec(0))
	l.SetBurstAt(sec(0), 0)
	requireTokens(t, 0, l, sec(0))
	requireTokens(t, 0, l, sec(100))
	require.True(t, l.AllowN(sec(100), 0))
	require.False(t, l.AllowN(sec(100), 1))
	l.SetBurstAt(sec(100), 10)
	requireTokens(t, 0, l, sec(100))
	require.Equal(t, 3, allowed(l, sec(103), 10))
}

func TestSetBurstKeepsDebt(t *testing.T) {
	l := NewLimiter(1, 4)
	require.True(t, l.AllowN(sec(0), 4))
	require.True(t, l.ReserveN(sec(0), 3).OK())
	for _, b := range []int{1, 0, 9, -2, 1000, 4} {
		l.SetBurstAt(sec(0), b)
		requireTokens(t, -3, l, sec(0))
	}
	requireTokens(t, -1, l, sec(2))
}

func TestSetLimitKeepsWhatIsLeft(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(0), 7))
	for i, r := range []Limit{1000, 0, 0.5, 7, 2e9, -1, 10} {
		l.SetLimitAt(sec(0), r)
		require.Equal(t, r, l.Limit())
		require.InDelta(t, 3, l.TokensAt(sec(0)), 1e-9, "%d", i)
	}
	l.SetLimitAt(sec(0.2), 0)
	requireTokens(t, 5, l, sec(0.2))
	requireTokens(t, 5, l, sec(1000))
	l.SetLimitAt(sec(1000), 10)
	requireTokens(t, 5, l, sec(1000))
	requireTokens(t, 6, l, sec(1000.1))
}

func TestInfRefillsInAnyTime(t *testing.T) {
	l := NewLimiter(1, 10)
	require.True(t, l.AllowN(sec(0), 10))
	l.SetLimitAt(sec(0), Inf)
	requireTokens(t, 0, l, sec(0))
	l.SetLimitAt(sec(0), 1)
	requireTokens(t, 0, l, sec(0))
	l.SetLimitAt(sec(0), Inf)
	requireTokens(t, 10, l, sec(0).Add(1))
	l.SetLimitAt(sec(0).Add(1), 1)
	requireTokens(t, 10, l, sec(0).Add(1))
}

func TestChangeDatesFromTheLatestTime(t *testing.T) {
	l := NewLimiter(1, 10)
	require.True(t, l.AllowN(sec(5), 10))
	l.SetLimitAt(sec(1), 100)
	requireTokens(t, 0, l, sec(5))
	requireTokens(t, 1, l, sec(5.01))
}

func TestChangeAfterYears(t *testing.T) {
	const years = 365 * 24 * 3600.0
	for _, r := range []Limit{1, 63, 2e9, 1.9e9, 0, Inf} {
		l := NewLimiter(r, 10)
		l.AllowN(sec(0), 10)
		l.SetLimitAt(sec(3*years), 1)
		want := 10.0
		if r == 0 {
			want = 0
		}
		requireTokens(t, want, l, sec(3*years))
		l.SetLimitAt(sec(7*years), 63)
		requireTokens(t, 10, l, sec(7*years))
	}
}

// A reservation keeps its delay; those that come after the change go by the new
// limit, behind it.
func TestReservationKeepsItsDelay(t *testing.T) {
	l := NewLimiter(1, 1)
	require.True(t, l.AllowN(sec(0), 1))
	a := l.ReserveN(sec(0), 1)
	l.SetLimitAt(sec(0), 1000)
	require.Equal(t, time.Second, a.DelayFrom(sec(0)))
	require.Equal(t, 2*time.Millisecond, l.ReserveN(sec(0), 1).DelayFrom(sec(0)))
}
