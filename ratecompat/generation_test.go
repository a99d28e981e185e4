package ratecompat

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Between the two steps of a change, the terms and the word, the old terms hold.
func TestHalfAChange(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(0), 4))
	next := l.terms.Load().next(Inf, 1, 0)
	l.terms.Store(next)
	require.False(t, l.AllowN(sec(0), 7))
	require.True(t, l.AllowN(sec(0), 6))
	requireTokens(t, 1, l, sec(0.1))
	r := l.ReserveN(sec(0), 1)
	require.Equal(t, 100*time.Millisecond, r.DelayFrom(sec(0)))
	require.Equal(t, next.gen-1, r.claim.gen)

	w := l.word.Load()
	require.True(t, l.word.CompareAndSwap(w, next.convert(w)))
	require.True(t, l.AllowN(sec(0), 100))
	require.Equal(t, next.gen, l.terms.Load().gen)
}

// A taker that stalled over two changes has a word of the right parity and even of
// the right level; its swap must fail all the same.
func TestWordsOfTwoGenerationsDiffer(t *testing.T) {
	l := NewLimiter(10, 10)
	require.True(t, l.AllowN(sec(0), 4))
	seen := map[uint64]bool{}
	for range 500 {
		require.False(t, seen[l.word.Load()])
		seen[l.word.Load()] = true
		l.SetBurstAt(sec(0), 10)
		requireTokens(t, 6, l, sec(0))
	}
}

// A claim for no tokens has the mark of the one before it, and moves with it.
func TestWaitForNothingOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(1, 1))
		require.True(t, q.l.Allow())
		r := q.l.Reserve()
		q.join(t.Context(), 0, 0)
		pass(time.Millisecond)
		r.Cancel()
		pass(time.Minute)
		require.Equal(t, time.Millisecond, q.when[0])
	})
}

// A stale cancel, years after the reservation, gives nothing back.
func TestCancelYearsLater(t *testing.T) {
	for _, years := range []float64{0.5, 1.2, 2.4, 3, 4, 4.6, 20} {
		l := NewLimiter(63, 10)
		r := l.ReserveN(sec(0), 5)
		at := sec(years * 365 * 24 * 3600)
		require.Equal(t, 10, allowed(l, at, 20))
		r.CancelAt(sec(0))
		require.Zero(t, allowed(l, at, 20), "%v years", years)
	}
}
