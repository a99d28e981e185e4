package bucket

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScaleOfRates(t *testing.T) {
	for _, r := range rates {
		l := r.limit(t)
		tokens, per := l.Rate()
		require.Equal(t, r.q, tokens, "%v", r)
		require.Equal(t, r.c, per, "%v", r)
		require.Equal(t, r.capacity, l.Capacity())
	}
}

// A period that is a multiple of its tokens, and a small fraction, are exact.
func TestExactRates(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		tokens := 1 + rng.Int64N(1<<rng.IntN(31))
		k := 1 + rng.Int64N(1<<rng.IntN(31)) // nanoseconds a token
		l, err := New(tokens, tokens*k, 1)
		require.NoError(t, err)
		q, c := l.Rate()
		require.Equal(t, []int64{1, k}, []int64{q, c}, "%d per %d", tokens, tokens*k)

		q = 1 + rng.Int64N(maxQ)
		c = (q+1)/2 + rng.Int64N(1<<rng.IntN(40))
		g := int64(gcd(uint64(q), uint64(c)))
		m := 1 + rng.Int64N(1<<15)
		l, err = New(q*m, c*m, 1)
		require.NoError(t, err)
		gotQ, gotC := l.Rate()
		require.Equal(t, []int64{q / g, c / g}, []int64{gotQ, gotC}, "%d per %d", q*m, c*m)
	}
}

// A rate without a small fraction is rounded, never up, and by no more than is
// promised for its size.
func TestRoundedRates(t *testing.T) {
	for _, class := range []struct {
		name     string
		from, to float64 // tokens a second
		lost     float64 // at most, as a fraction
	}{
		{"to 20,000/s", 1.0 / 86400, 20_000, 1e-6},
		{"to 1e6/s", 20_000, 1e6, 50e-6},
		{"to 1e9/s", 1e6, 1e9, 0.05},
		{"to 2e9/s", 1e9, 2e9, 0.05},
	} {
		t.Run(class.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			bound := new(big.Rat).SetFloat64(1 - class.lost)
			for range 10_000 {
				perSecond := class.from * math.Pow(class.to/class.from, rng.Float64())
				// A random period, from small to the largest that tokens fit.
				tokens := 1 + rng.Int64N(1<<rng.IntN(62))
				per := float64(tokens) / perSecond * 1e9
				if per > 9e18 || per < 1 {
					continue
				}
				checkRounding(t, tokens, int64(per), bound)
			}
			for range 2_000 { // whole numbers a second, a minute, a day
				perSecond := class.from * math.Pow(class.to/class.from, rng.Float64())
				for _, per := range []int64{second, minute, day} {
					if tokens := int64(perSecond * float64(per) / 1e9); tokens > 0 {
						checkRounding(t, tokens, per, bound)
					}
				}
			}
		})
	}
}

// checkRounding asserts that the rate in force is between bound and 1 times the
// one asked for.
func checkRounding(t *testing.T, tokens, per int64, bound *big.Rat) {
	t.Helper()
	l, err := New(tokens, per, 1)
	if err != nil {
		asked := big.NewRat(tokens, per)
		ok := asked.Cmp(big.NewRat(2, 1)) <= 0 && asked.Cmp(big.NewRat(1, maxRefill)) >= 0
		require.False(t, ok, "%d per %d: %v", tokens, per, err)
		return
	}
	q, c := l.Rate()
	require.True(t, q >= 1 && q <= maxQ, "q = %d", q)
	ratio := big.NewRat(q, c)
	ratio.Quo(ratio, big.NewRat(tokens, per))
	require.LessOrEqual(t, ratio.Cmp(big.NewRat(1, 1)), 0, "%d per %d became %d per %d", tokens, per, q, c)
	require.GreaterOrEqual(t, ratio.Cmp(bound), 0, "%d per %d became %d per %d", tokens, per, q, c)
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		tokens, per, capacity int64
		want                  error
	}{
		{0, second, 1, ErrRate},
		{-1, second, 1, ErrRate},
		{-1_000_000, second, 1, ErrRate},
		{math.MinInt64, math.MinInt64, 1, ErrRate},
		{1, 0, 1, ErrRate},
		{1, -1, 1, ErrRate},
		{3, 1, 1, ErrRate},
		{2_000_000_001, second, 1, ErrRate},
		{math.MaxInt64, 1<<62 - 1, 1, ErrRate},
		{math.MaxInt64, 1, 1, ErrRate},
		{1, second, 0, ErrCapacity},
		{1, second, -1, ErrCapacity},
		{1, second, math.MinInt64, ErrCapacity},
		{1, second, math.MaxInt64, ErrCapacity},
		{1, second, 365*86400 + 1, ErrCapacity},
		{1, year + 1, 1, ErrCapacity},
		{1, math.MaxInt64, 1, ErrCapacity},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, ErrCapacity},
	} {
		_, err := New(c.tokens, c.per, c.capacity)
		require.ErrorIs(t, err, c.want, "%+v", c)
	}
	for _, c := range [][3]int64{
		{math.MaxInt64, math.MaxInt64, 1},
		{math.MaxInt64, 1 << 62, 1},
		{2, 1, 2 * year},
		{1, year, 1},
		{math.MaxInt64 - 1, math.MaxInt64, year / 64 * 63},
	} {
		_, err := New(c[0], c[1], c[2])
		require.NoError(t, err, "%v", c)
	}
}
