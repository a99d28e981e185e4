package ratecompat

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	theirs "golang.org/x/time/rate"

	ours "github.com/tickgate/tickgate/ratecompat"
)

var t0 = time.Unix(1_700_000_000, 0)

func at(s float64) time.Time { return t0.Add(time.Duration(s * 1e9)) }

func TestDiffersOnStaleTime(t *testing.T) {
	a, b := theirs.NewLimiter(10, 10), ours.NewLimiter(10, 10)
	x, y := 0, 0
	for i := range 200 {
		now := at(float64(1 - i%2))
		if a.AllowN(now, 1) {
			x++
		}
		if b.AllowN(now, 1) {
			y++
		}
	}
	require.Equal(t, 200, x)
	require.Equal(t, 10, y)
}

func TestDiffersOnNegativeN(t *testing.T) {
	a, b := theirs.NewLimiter(1, 5), ours.NewLimiter(1, 5)
	require.True(t, a.AllowN(t0, 5) && b.AllowN(t0, 5))
	require.True(t, a.AllowN(t0, -100))
	require.False(t, b.AllowN(t0, -100))
	require.Equal(t, 5.0, a.TokensAt(t0))
	require.Equal(t, 0.0, b.TokensAt(t0))
}

func TestDiffersOnCancel(t *testing.T) {
	a, b := theirs.NewLimiter(10, 20), ours.NewLimiter(10, 20)
	a.ReserveN(t0, 15)
	b.ReserveN(t0, 15)
	x, y := a.ReserveN(at(0.1), 10), b.ReserveN(at(0.1), 10)
	a.ReserveN(at(0.2), 2)
	b.ReserveN(at(0.2), 2)
	x.CancelAt(at(0.3))
	y.CancelAt(at(0.3))
	require.InDelta(t, 4, a.TokensAt(at(0.3)), 1e-6)
	require.InDelta(t, 6, b.TokensAt(at(0.3)), 1e-6)

	// A second cancel.
	a, b = theirs.NewLimiter(1, 2), ours.NewLimiter(1, 2)
	a.ReserveN(t0, 2)
	b.ReserveN(t0, 2)
	x, y = a.ReserveN(t0, 1), b.ReserveN(t0, 1)
	for range 2 {
		x.CancelAt(t0)
		y.CancelAt(t0)
	}
	require.Equal(t, 0.0, b.TokensAt(t0))
	require.Equal(t, 2.0, a.TokensAt(t0), "one more than there were")
}

func TestDiffersOnLargeNumbers(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("needs ints of 64 bits")
	}
	one := 1
	a, b := theirs.NewLimiter(1e9, one<<53+1), ours.NewLimiter(1e9, one<<53+1)
	require.True(t, a.AllowN(t0, one<<53-5) && b.AllowN(t0, one<<53-5))
	x, y := 0, 0
	for range 20 {
		if a.AllowN(t0, 1) {
			x++
		}
		if b.AllowN(t0, 1) {
			y++
		}
	}
	require.Equal(t, 5, x)
	require.Equal(t, 6, y)
}

func TestDiffersOnDeadlines(t *testing.T) {
	a, b := theirs.NewLimiter(1, 1), ours.NewLimiter(1, 1)
	require.True(t, a.Allow() && b.Allow())
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	x, y := a.Wait(ctx), b.Wait(ctx)
	require.ErrorContains(t, x, "would exceed context deadline")
	require.ErrorContains(t, y, "would exceed context deadline")
	require.False(t, errors.Is(x, context.DeadlineExceeded))
	require.True(t, errors.Is(y, context.DeadlineExceeded))
}

func TestDiffersOnNegativeBurst(t *testing.T) {
	a, b := theirs.NewLimiter(1, -5), ours.NewLimiter(1, -5)
	require.Equal(t, -5.0, a.TokensAt(t0))
	require.Equal(t, 0.0, b.TokensAt(t0))
}

func TestDiffersOnTheDelaysLastNanosecond(t *testing.T) {
	a, b := theirs.NewLimiter(3, 1), ours.NewLimiter(3, 1)
	require.True(t, a.AllowN(t0, 1) && b.AllowN(t0, 1))
	require.Equal(t, 333333333*time.Nanosecond, a.ReserveN(t0, 1).DelayFrom(t0))
	require.Equal(t, 333333334*time.Nanosecond, b.ReserveN(t0, 1).DelayFrom(t0))
}
