package ratecompat

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFractionIsTheOneThatWasMeant(t *testing.T) {
	tests := []struct {
		limit       Limit
		tokens, per int64
	}{
		{1, 1, 1e9},
		{10, 1, 1e8},
		{7, 7, 1e9},
		{1.5, 3, 2e9},
		{0.1, 1, 1e10},
		{100.0 / 3600, 1, 36e9},
		{700.0 / 60, 7, 6e8},
		{1e9, 1, 1},
		{3e6, 3, 1000},
		{1.9e9, 19, 10},
		{2e9, 2, 1},
		{3e9, 2, 1},
		{1e300, 2, 1},
		{Every(3 * time.Second), 1, 3e9},
		{Every(7 * time.Nanosecond), 1, 7},
		{Every(time.Hour + time.Nanosecond), 1, 3600_000_000_001},
		{Every(365 * 24 * time.Hour), 1, year},
		{0, 0, 1},
		{-1, 0, 1},
		{Limit(math.Inf(-1)), 0, 1},
		{Limit(math.NaN()), 0, 1},
		{math.SmallestNonzeroFloat64, 0, 1},
		{1e-10, 0, 1},
	}
	for _, tt := range tests {
		tokens, per := tt.limit.fraction()
		require.Equal(t, [2]int64{tt.tokens, tt.per}, [2]int64{tokens, per}, "%v", float64(tt.limit))
	}
}

func TestFractionOfEveryInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		d := time.Duration(math.Exp(r.Float64() * math.Log(1e14))) // to a day
		tokens, per := Every(d).fraction()
		require.Equal(t, [2]int64{1, int64(d)}, [2]int64{tokens, per}, "%v", d)
	}
}

// Never faster, but for what a float64 cannot tell, and slower by no more than
// package bucket promises.
func TestFractionOfAnyRate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		l := Limit(math.Exp(r.Float64()*math.Log(1e18)) / 1e9 * 2)
		tokens, per := l.fraction()
		got := float64(tokens) / float64(per) * 1e9
		require.LessOrEqual(t, got, float64(l)*(1+2*near), "%v", float64(l))
		slack := 1e-6
		switch {
		case l > 1e6:
			slack = 0.05
		case l > 20_000:
			slack = 50e-6
		}
		require.GreaterOrEqual(t, got, float64(l)*(1-slack), "%v", float64(l))
	}
}

func TestEvery(t *testing.T) {
	require.Equal(t, Inf, Every(0))
	require.Equal(t, Inf, Every(-time.Second))
	require.Equal(t, Limit(4), Every(250*time.Millisecond))
}

func TestLimitAndBurstAreAsTheyWereSet(t *testing.T) {
	l := NewLimiter(123456.789, 1<<30)
	require.Equal(t, Limit(123456.789), l.Limit())
	require.Equal(t, 1<<30, l.Burst())
	l.SetBurst(-3)
	l.SetLimit(Limit(math.NaN()))
	require.Equal(t, -3, l.Burst())
	require.True(t, math.IsNaN(float64(l.Limit())))
}

func TestRatesThatNeverGiveTokens(t *testing.T) {
	for _, r := range []Limit{0, -1, Limit(math.NaN()), Limit(math.Inf(-1)), 1e-300} {
		l := NewLimiter(r, 3)
		require.Equal(t, 3, allowed(l, sec(0), 10), "%v", float64(r))
		require.Zero(t, allowed(l, sec(1e9), 10), "only the burst, once: %v", float64(r))
		requireTokens(t, 0, l, sec(2e9))
	}
}

func TestInfAllowsEverything(t *testing.T) {
	for _, r := range []Limit{Inf, Limit(math.Inf(1))} {
		for _, b := range []int{-1, 0, 5} {
			l := NewLimiter(r, b)
			for _, n := range []int{-7, 0, 1, math.MaxInt, math.MinInt} {
				require.True(t, l.AllowN(sec(0), n))
				v := l.ReserveN(sec(0), n)
				require.True(t, v.OK())
				require.Zero(t, v.DelayFrom(sec(0)))
				v.CancelAt(sec(0))
				require.NoError(t, l.WaitN(t.Context(), n))
			}
			requireTokens(t, float64(max(b, 0)), l, sec(0))
		}
	}
}

func TestRefillOverAYear(t *testing.T) {
	// 1/s with a burst of ten years holds what a year brings.
	l := NewLimiter(1, 10*365*24*3600)
	require.False(t, l.AllowN(sec(0), 365*24*3600+1))
	require.True(t, l.AllowN(sec(0), 365*24*3600))
	require.False(t, l.AllowN(sec(0), 1))
	require.True(t, l.AllowN(sec(5), 5))

	// A token that takes over a year never comes.
	l = NewLimiter(Every(400*24*time.Hour), 2)
	require.Equal(t, 2, allowed(l, sec(0), 3))
	require.Zero(t, allowed(l, sec(3e9), 3))

	// The largest burst there is.
	for _, r := range []Limit{0, 1, 1e9, 2e9, 1e15, 1.999e9} {
		l = NewLimiter(r, math.MaxInt)
		require.True(t, l.AllowN(sec(0), 1_000_000))
		require.False(t, l.AllowN(sec(0), math.MaxInt))
	}
}
