package refmodel

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

const second = int64(time.Second)

// at is a time in milliseconds.
func at(ms int64) clock.Time { return clock.Time(ms) * clock.Time(time.Millisecond) }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func TestTake(t *testing.T) {
	b := New(10, second, 20) // a token in 100 ms
	for i, s := range []struct {
		now       int64 // ms
		n         int64
		allowed   bool
		remaining int64
		retry     time.Duration
		reset     time.Duration
	}{
		{0, 0, true, 20, 0, 0},
		{0, 15, true, 5, 0, ms(1500)},
		{0, 6, false, 5, ms(100), ms(1500)},
		{100, 6, true, 0, 0, ms(2000)},
		{100, 20, false, 0, ms(2000), ms(2000)},
		{150, 0, true, 0, 0, ms(1950)},
		{150, 1, false, 0, ms(50), ms(1950)},
		{200, 1, true, 0, 0, ms(2000)},
		{1199, 10, false, 9, ms(1), ms(1001)},
		{1200, 10, true, 0, 0, ms(2000)},
		{100_000, 20, true, 0, 0, ms(2000)}, // idle earns no more than 20
		{100_000, 1, false, 0, ms(100), ms(2000)},
	} {
		d := b.TakeAt(at(s.now), s.n)
		require.Equal(t, s.allowed, d.Allowed, "step %d", i)
		require.Equal(t, s.remaining, d.Remaining, "step %d", i)
		require.Equal(t, s.retry, d.RetryAfter, "step %d", i)
		require.Equal(t, s.reset, d.ResetAfter, "step %d", i)
		require.Equal(t, at(s.now), d.At, "step %d", i)
		require.False(t, d.TooCostly)
	}
}

func TestTakeOfWhatCannotPass(t *testing.T) {
	b := New(1, second, 5)
	d := b.TakeAt(0, 6)
	require.True(t, d.TooCostly)
	require.False(t, d.Allowed)
	require.Equal(t, Never, d.RetryAfter)
	require.Equal(t, int64(5), d.Remaining)
	d = b.TakeAt(0, -1)
	require.True(t, d.TooCostly)
	require.False(t, d.Allowed)
	require.Equal(t, int64(5), b.Peek(0).Remaining)
	for _, c := range [][3]int64{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {-1, 1, 1}} {
		require.Panics(t, func() { New(c[0], c[1], c[2]) })
	}
}

// A third of a second is no whole number of nanoseconds, and is not rounded.
func TestNothingIsRounded(t *testing.T) {
	b := New(3, second, 1)
	require.True(t, b.TakeAt(0, 1).Allowed)
	require.Equal(t, time.Duration(333_333_334), b.TakeAt(0, 1).RetryAfter)
	require.False(t, b.TakeAt(333_333_333, 1).Allowed)
	require.Zero(t, b.Used(333_333_333).Cmp(big.NewRat(1, 1_000_000_000)))
	require.True(t, b.TakeAt(333_333_334, 1).Allowed)
	require.Zero(t, b.Used(333_333_334).Cmp(big.NewRat(1, 1)), "the rest of the nanosecond found no room")
}

func TestChargeAndCredit(t *testing.T) {
	b := New(10, second, 20)
	b.Charge(0, 25)
	require.Zero(t, b.Peek(0).Remaining)
	require.False(t, b.Peek(0).Allowed, "in debt")
	require.Equal(t, ms(500), b.Peek(0).RetryAfter)
	require.Equal(t, ms(600), b.TakeAt(0, 1).RetryAfter)
	b.Credit(0, 10)
	require.Equal(t, int64(5), b.Peek(0).Remaining)
	b.Credit(0, 1000)
	require.Equal(t, int64(20), b.Peek(0).Remaining)
	require.Zero(t, b.Used(0).Sign())

	b.Charge(0, math.MaxInt64)
	b.Charge(0, math.MaxInt64)
	owed := new(big.Rat).SetInt64(math.MaxInt64)
	require.Zero(t, b.Used(0).Cmp(owed.Add(owed, owed)))
	require.Equal(t, Never, b.TakeAt(0, 1).RetryAfter)
}

func TestMost(t *testing.T) {
	b := NewBucket(Limit{Tokens: 10, Per: second, Capacity: 20, Most: big.NewRat(50, 1)})
	b.Charge(0, math.MaxInt64)
	require.Zero(t, b.Used(0).Cmp(big.NewRat(50, 1)))
	b.ApplyLimit(0, Limit{Tokens: 10, Per: second, Capacity: 20, Most: big.NewRat(30, 1)})
	require.Zero(t, b.Used(0).Cmp(big.NewRat(30, 1)))
}

func TestApply(t *testing.T) {
	b := New(10, second, 10)
	require.True(t, b.TakeAt(0, 8).Allowed)
	b.Apply(0, 10, second, 5)
	require.Zero(t, b.Peek(0).Remaining)
	require.Equal(t, ms(300), b.Peek(0).RetryAfter)
	b.Apply(0, 10, second, 10)
	require.Equal(t, int64(2), b.Peek(0).Remaining)

	b.Apply(at(300), 1000, second, 10) // 5 used, and now faster
	require.Equal(t, int64(5), b.Peek(at(300)).Remaining)
	require.Equal(t, int64(6), b.Peek(at(301)).Remaining)
	b.Apply(at(301), 1, 10*second, 10) // 4 used, and now slower
	require.Equal(t, int64(6), b.Peek(at(301)).Remaining)
	require.Equal(t, int64(6), b.Peek(at(10_300)).Remaining)
	require.Equal(t, int64(7), b.Peek(at(10_301)).Remaining)

	b.Apply(0, 1, 10*second, 8) // dated back: at the key's time
	require.Equal(t, int64(5), b.Peek(at(10_301)).Remaining)
}

func TestHugeTimes(t *testing.T) {
	b := New(2, 1, 100)
	require.True(t, b.TakeAt(math.MinInt64, 100).Allowed)
	require.True(t, b.TakeAt(math.MaxInt64, 100).Allowed)
	require.Equal(t, Never, b.TakeAt(math.MinInt64, 1).RetryAfter)
	day := New(1, 24*3600*second, 100)
	day.Charge(math.MinInt64, 1<<62)
	want := new(big.Rat).SetInt64(1 << 62)
	passed := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 64), big.NewInt(1))
	refilled := new(big.Rat).SetFrac(passed, big.NewInt(24*3600*second))
	require.Zero(t, day.Used(math.MaxInt64).Cmp(want.Sub(want, refilled)))
}
