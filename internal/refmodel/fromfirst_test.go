package refmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func fromFirstOf(tokens, per int64) Limit {
	return Limit{Tokens: tokens, Per: per, Window: policy.FromFirst}
}

// Three seconds from the first message, wherever that falls.
func TestFromFirstOfThreeSeconds(t *testing.T) {
	b := NewBucket(fromFirstOf(1500, 3*second))
	b.Peek(at(100))
	require.True(t, b.TakeAt(at(700), 1).Allowed)
	d := b.TakeAt(at(3000), 1499)
	require.True(t, d.Allowed)
	require.Equal(t, ms(700), d.ResetAfter)
	d = b.TakeAt(at(3600), 1)
	require.False(t, d.Allowed)
	require.Equal(t, ms(100), d.RetryAfter)
	require.False(t, b.TakeAt(at(3700)-1, 1).Allowed)
	require.Equal(t, int64(1500), b.Peek(at(3700)).Remaining, "over, and none is open")
	require.True(t, b.TakeAt(at(5000), 1500).Allowed)
	require.Equal(t, ms(3000), b.TakeAt(at(5000), 1).RetryAfter, "the next began with that one")
}

func TestFromFirstSkew(t *testing.T) {
	l := fromFirstOf(10, second)
	l.Skew = ms(100)
	b := NewBucket(l)
	require.True(t, b.TakeAt(0, 1).Allowed)
	require.True(t, b.TakeAt(at(900)-1, 1).Allowed)

	d := b.TakeAt(at(900), 1)
	require.False(t, d.Allowed, "it might count in the next window already")
	require.Equal(t, ms(200), d.RetryAfter)
	require.Equal(t, ms(200), d.ResetAfter)
	require.Zero(t, d.Remaining)
	require.True(t, b.Peek(at(1000)).Allowed, "a look is no event")
	require.False(t, b.TakeAt(at(1100)-1, 1).Allowed)
	require.True(t, b.TakeAt(at(1100), 10).Allowed)
	require.Equal(t, ms(1100), b.TakeAt(at(1100), 1).RetryAfter)

	// What counts nothing any more is shut all the same.
	b.Credit(at(1100), 10)
	require.Equal(t, int64(10), b.Peek(at(1100)).Remaining)
	require.Zero(t, b.Peek(at(1100)).ResetAfter)
	d = b.TakeAt(at(2000), 1)
	require.Equal(t, ms(200), d.RetryAfter)
	require.Equal(t, ms(200), d.ResetAfter)
}

func TestFromFirstChargeCreditRefund(t *testing.T) {
	b := NewBucket(fromFirstOf(10, second))
	b.Credit(0, 5)
	b.Charge(0, 0)
	b.Charge(at(300), 12) // opens
	require.Equal(t, ms(1000), b.TakeAt(at(300), 1).RetryAfter)
	b.Credit(at(300), 3)
	require.Equal(t, int64(1), b.Peek(at(300)).Remaining)
	d := b.TakeAt(at(400), 1)
	b.Refund(at(1299), d.Receipt)
	require.Equal(t, int64(1), b.Peek(at(1299)).Remaining)
	d = b.TakeAt(at(1299), 1)
	require.True(t, b.TakeAt(at(1300), 2).Allowed)
	b.Refund(at(1300), d.Receipt)
	require.Equal(t, int64(8), b.Peek(at(1300)).Remaining, "its window is over")

	// A refund of all says that the window did not open.
	d = b.TakeAt(at(5000), 1)
	b.Refund(at(5000), d.Receipt)
	require.True(t, b.TakeAt(at(5900), 10).Allowed)
	require.Equal(t, ms(1000), b.TakeAt(at(5900), 1).RetryAfter)

	b.Charge(at(7000), math.MaxInt64)
	b.Charge(at(7000), math.MaxInt64)
	require.Equal(t, whole(math.MaxInt64), b.Used(at(7000)))
}

// With a skew as large as the delay of messages varies, the venue never counts
// more than the limit in a window that opens with the first one it sees.
func TestFromFirstHoldsAtTheVenue(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for range 300 {
		skew := rng.Int64N(10)
		tokens, per := 1+rng.Int64N(6), 2*skew+1+rng.Int64N(40)
		l := fromFirstOf(tokens, per)
		l.Skew = time.Duration(skew)
		b := NewBucket(l)
		var stamps []int64
		for now := int64(0); now < 600; now += rng.Int64N(4) {
			if b.TakeAt(clock.Time(now), 1).Allowed {
				stamps = append(stamps, now+rng.Int64N(skew+1))
			}
		}
		slices.Sort(stamps)
		start, count := int64(-1000), int64(0)
		for _, s := range stamps {
			if s >= start+per {
				start, count = s, 0
			}
			count++
			require.LessOrEqual(t, count, tokens)
		}
	}
}
