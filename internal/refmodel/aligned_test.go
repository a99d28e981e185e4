package refmodel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func alignedOf(tokens, per int64) Limit {
	return Limit{Tokens: tokens, Per: per, Window: policy.Aligned}
}

// Two full windows meet at a boundary, and the third must wait for the next.
func TestAlignedAtABoundary(t *testing.T) {
	b := NewBucket(alignedOf(100, 10*second))
	d := b.TakeAt(at(9900), 100)
	require.True(t, d.Allowed)
	require.Equal(t, ms(100), d.ResetAfter)
	require.True(t, b.TakeAt(at(10_000), 100).Allowed)
	d = b.TakeAt(at(10_100), 1)
	require.False(t, d.Allowed)
	require.Zero(t, d.Remaining)
	require.Equal(t, ms(9900), d.RetryAfter)
	require.Equal(t, ms(9900), d.ResetAfter)
	require.False(t, b.TakeAt(at(20_000)-1, 1).Allowed)
	require.True(t, b.TakeAt(at(20_000), 1).Allowed)
}

// The wall clock decides where windows begin, also before 1970.
func TestAlignedToTheWall(t *testing.T) {
	for _, ahead := range []int64{0, 3 * second, -3 * second, 1_800_000_000 * second, -7_000_000_003 * second} {
		l := alignedOf(5, 10*second)
		l.Wall = func(t clock.Time) int64 { return int64(t) + ahead }
		b := NewBucket(l)
		in := ((ahead+4*second)%(10*second) + 10*second) % (10 * second)
		require.True(t, b.TakeAt(at(4000), 5).Allowed)
		require.Equal(t, time.Duration(10*second-in), b.TakeAt(at(4000), 1).RetryAfter)
	}
	b := NewBucket(alignedOf(1, 10*second))
	require.True(t, b.TakeAt(math.MaxInt64, 1).Allowed)
	d := b.TakeAt(math.MaxInt64, 1)
	require.False(t, d.Allowed)
	require.Equal(t, time.Duration(10*second-math.MaxInt64%(10*second)), d.RetryAfter)
	require.True(t, NewBucket(alignedOf(1, 10*second)).TakeAt(math.MinInt64, 1).Allowed)
}

// What passes in the first 200 ms of a window counts in the one before it, too.
func TestAlignedSkew(t *testing.T) {
	l := alignedOf(100, 10*second)
	l.Skew = ms(200)
	b := NewBucket(l)
	require.True(t, b.TakeAt(at(9900), 60).Allowed)
	d := b.TakeAt(at(10_000), 40)
	require.True(t, d.Allowed)
	require.Zero(t, d.Remaining, "of the old one")
	require.Equal(t, ms(10_200), d.ResetAfter)
	d = b.TakeAt(at(10_100), 1)
	require.False(t, d.Allowed)
	require.Equal(t, ms(100), d.RetryAfter)
	require.Equal(t, ms(10_100), b.TakeAt(at(10_100), 61).RetryAfter)
	require.False(t, b.TakeAt(at(10_200)-1, 1).Allowed)
	require.True(t, b.TakeAt(at(10_200), 60).Allowed)
	require.Equal(t, ms(10_000), b.TakeAt(at(10_200), 1).RetryAfter)
}

func TestAlignedChargeCreditRefund(t *testing.T) {
	l := alignedOf(10, 10*second)
	l.Skew = ms(200)
	b := NewBucket(l)
	b.Charge(at(9000), 12)
	b.Credit(at(9000), 4)
	require.Equal(t, int64(2), b.Peek(at(9000)).Remaining)
	old := b.TakeAt(at(9900), 1)
	both := b.TakeAt(at(10_000), 1)
	require.Zero(t, b.Peek(at(10_000)).Remaining)
	b.Refund(at(10_100), old.Receipt)
	require.Equal(t, int64(1), b.Peek(at(10_100)).Remaining)
	require.Equal(t, int64(9), b.Peek(at(10_200)).Remaining)
	b.Refund(at(10_200), old.Receipt) // its window is over
	require.Equal(t, int64(9), b.Peek(at(10_200)).Remaining)
	b.Refund(at(10_200), both.Receipt) // it counted in this one as well
	require.Equal(t, int64(10), b.Peek(at(10_200)).Remaining)

	b.Charge(at(20_100), 3)
	b.Credit(at(20_100), 2) // in both
	require.Equal(t, int64(9), b.Peek(at(20_100)).Remaining)
	require.Equal(t, int64(9), b.Peek(at(20_200)).Remaining)
	b.Charge(at(20_200), math.MaxInt64)
	b.Charge(at(20_200), math.MaxInt64)
	require.Equal(t, whole(math.MaxInt64), b.Used(at(20_200)))
}

// stepping is a wall clock that a test moves.
func stepping(l *Limit) (step func(ms int64)) {
	ahead := int64(0)
	l.Wall = func(t clock.Time) int64 { return int64(t) + ahead }
	return func(ms int64) { ahead += ms * int64(time.Millisecond) }
}

func TestAlignedStep(t *testing.T) {
	for _, c := range []struct {
		name string
		step int64 // ms, of the wall clock, at 5000
		skew int64 // ms
		left int64 // of 10 of which 8 were used, at 10,000
		then int64 // ms, of the key's time, when 10 are left again
	}{
		{"none", 0, 0, 10, 10_000},
		{"back: the same window again", -3000, 0, 2, 13_000},
		{"forward: the next has begun", 7000, 0, 2, 13_000},
		{"a little forward", 1, 0, 10, 10_000},
		{"more than a little", 2, 0, 2, 19_998},
		{"a little back", -1, 0, 2, 10_001},
		{"within the skew", 100, 100, 2, 10_100},
		{"more than the skew", 101, 100, 2, 19_999},
		{"back, with skew", -3000, 100, 2, 13_100},
		{"whole windows", 40_000, 0, 10, 10_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := alignedOf(10, 10*second)
			l.Skew = ms(c.skew)
			step := stepping(&l)
			b := NewBucket(l)
			d := b.TakeAt(at(1000), 8)
			step(c.step)
			require.Equal(t, int64(2), b.Peek(at(5000)).Remaining)
			require.Equal(t, c.left, b.Peek(at(10_000)).Remaining)
			require.Equal(t, at(c.then), b.Peek(at(10_000)).At+clock.Time(b.Peek(at(10_000)).ResetAfter), "reset")
			b.TakeAt(at(10_000), 1)
			b.Refund(at(10_000), d.Receipt)
			require.Equal(t, int64(9), b.Peek(at(10_000)).Remaining, "given back wherever it counts")
		})
	}
}

// What a window that nobody called in has carried holds until Skew after its end.
func TestAlignedStepThenNobody(t *testing.T) {
	l := alignedOf(10, 10*second)
	l.Skew = ms(500)
	step := stepping(&l)
	b := NewBucket(l)
	require.True(t, b.TakeAt(at(1000), 10).Allowed)
	step(-3000)
	require.Equal(t, ms(12_500), b.TakeAt(at(1000), 1).RetryAfter)
	require.False(t, b.TakeAt(at(13_499), 1).Allowed)
	require.True(t, b.TakeAt(at(13_500), 1).Allowed)
}

// A wall clock up to Skew behind ours at the venue never sees more than the limit
// in one of its windows, and what is denied would have been too much for one.
func TestAlignedIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 300 {
		skew := rng.Int64N(8)
		tokens, per := 1+rng.Int64N(8), 2*skew+1+rng.Int64N(20)
		l := alignedOf(tokens, per)
		l.Skew = time.Duration(skew)
		b := NewBucket(l)
		counts := map[int64]int64{} // window k: [k·per, k·per + per + skew)
		now := int64(0)
		for range 80 {
			now += rng.Int64N(8) * rng.Int64N(2)
			n := 1 + rng.Int64N(tokens)
			in := []int64{now / per}
			if now%per < skew {
				in = append(in, now/per-1)
			}
			fits := true
			for _, k := range in {
				fits = fits && counts[k]+n <= tokens
			}
			require.Equal(t, fits, b.TakeAt(clock.Time(now), n).Allowed)
			for _, k := range in {
				if fits {
					counts[k] += n
				}
			}
		}
	}
}
