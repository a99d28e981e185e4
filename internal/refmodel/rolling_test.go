package refmodel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func rollingOf(tokens, per int64) Limit {
	return Limit{Tokens: tokens, Per: per, Window: policy.Rolling}
}

// An event counts until it is a second old, and at that nanosecond no more.
func TestRollingBoundary(t *testing.T) {
	b := NewBucket(rollingOf(10, second))
	require.True(t, b.TakeAt(0, 4).Allowed)
	d := b.TakeAt(at(500), 6)
	require.True(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.Equal(t, ms(1000), d.ResetAfter)

	d = b.TakeAt(clock.Time(second)-1, 1)
	require.False(t, d.Allowed)
	require.Equal(t, time.Duration(1), d.RetryAfter)
	require.Equal(t, ms(500)+1, b.TakeAt(clock.Time(second)-1, 5).RetryAfter, "one of the later ones must go")
	require.True(t, b.TakeAt(clock.Time(second), 4).Allowed)
	require.False(t, b.TakeAt(clock.Time(second), 1).Allowed)
	require.True(t, b.TakeAt(at(1500), 6).Allowed)
	require.Equal(t, int64(10), b.Peek(math.MaxInt64).Remaining)
}

func TestRollingSkew(t *testing.T) {
	l := rollingOf(10, second)
	l.Skew = ms(50)
	b := NewBucket(l)
	require.True(t, b.TakeAt(0, 10).Allowed)
	require.Equal(t, ms(1050), b.TakeAt(0, 1).RetryAfter)
	require.False(t, b.TakeAt(at(1050)-1, 1).Allowed)
	require.True(t, b.TakeAt(at(1050), 10).Allowed)
}

func TestRollingChargeCreditRefund(t *testing.T) {
	b := NewBucket(rollingOf(10, second))
	first := b.TakeAt(0, 3)
	second := b.TakeAt(at(100), 3)
	b.Charge(at(200), 6) // two more than there are
	require.Equal(t, "12/1", b.Used(at(200)).String())
	require.Equal(t, ms(800), b.TakeAt(at(200), 1).RetryAfter, "two of the oldest stand for what is too much")
	b.Credit(at(200), 4) // the three of the first, and one of the second
	require.Equal(t, "8/1", b.Used(at(200)).String())
	b.Refund(at(200), first.Receipt)
	require.Equal(t, "8/1", b.Used(at(200)).String(), "credited before")
	b.Refund(at(200), second.Receipt)
	require.Equal(t, "6/1", b.Used(at(200)).String())
	b.Credit(at(200), 100)
	require.Zero(t, b.Used(at(200)).Sign())

	late := b.TakeAt(at(200), 10)
	b.Refund(at(1200), late.Receipt) // over by itself
	require.Equal(t, int64(10), b.Peek(at(1200)).Remaining)
	b.Refund(at(1200), b.TakeAt(at(1200), 4).Receipt)
	require.Equal(t, int64(10), b.Peek(at(1200)).Remaining)
}

func TestRollingMost(t *testing.T) {
	l := rollingOf(10, second)
	l.Most = big.NewRat(10, 1)
	b := NewBucket(l)
	require.True(t, b.TakeAt(0, 6).Allowed)
	b.Charge(at(100), 6) // the two oldest go
	require.Equal(t, "10/1", b.Used(at(100)).String())
	require.Equal(t, int64(4), b.Peek(at(1000)).Remaining)
	b.Charge(at(1000), math.MaxInt64)
	b.Credit(at(1000), 1)
	require.Equal(t, int64(1), b.Peek(at(1000)).Remaining)
	require.Equal(t, ms(1000), b.Peek(at(1000)).ResetAfter)

	b = NewBucket(rollingOf(10, second))
	b.Charge(0, math.MaxInt64)
	b.Charge(at(1), math.MaxInt64)
	require.Equal(t, whole(math.MaxInt64), b.Used(at(1)))
	require.Equal(t, ms(1000), b.TakeAt(at(1), 1).RetryAfter)
}

// Whatever is asked, no span of Per + Skew has more than the limit, and what is
// denied would have been too much in the span that ends there.
func TestRollingIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 300 {
		tokens, per, skew := 1+rng.Int64N(9), 1+rng.Int64N(30), rng.Int64N(5)
		l := rollingOf(tokens, per)
		l.Skew = time.Duration(skew)
		b := NewBucket(l)
		type admitted struct{ at, n int64 }
		var all []admitted
		now := int64(0)
		for range 60 {
			now += rng.Int64N(6) * rng.Int64N(2)
			n := 1 + rng.Int64N(tokens)
			sum := n
			for _, e := range all {
				if e.at > now-per-skew {
					sum += e.n
				}
			}
			require.Equal(t, sum <= tokens, b.TakeAt(clock.Time(now), n).Allowed)
			if sum <= tokens {
				all = append(all, admitted{now, n})
			}
		}
	}
}
