package bucket

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Every fault of a window is told, several at once, and nothing else.
func TestNewWindowTellsEveryFault(t *testing.T) {
	const most = maxRefill
	all := []error{ErrCount, ErrSpan, ErrSkew, ErrCoarse, ErrRolling}
	tests := []struct {
		kind               Kind
		tokens, span, skew int64
		want               []error
	}{
		{Aligned, 0, second, 0, []error{ErrCount}},
		{Aligned, -1, second, 0, []error{ErrCount}},
		{Aligned, MaxCount + 1, second, 0, []error{ErrCount}},
		{Aligned, math.MaxInt64, second, 0, []error{ErrCount}},
		{Aligned, math.MinInt64, second, 0, []error{ErrCount}},
		{Aligned, 1, most + 1, 0, []error{ErrSpan}},
		{Aligned, 1, second, -1, []error{ErrSkew}},
		{Aligned, 1, second, second / 2, []error{ErrSkew}},
		{Aligned, 1, second + 1, second/2 + 1, []error{ErrSkew}},
		{Aligned, 1, second, math.MaxInt64, []error{ErrSkew}},
		{Aligned, 1, second, math.MinInt64, []error{ErrSkew}},
		{Aligned, 0, most + 1, -1, []error{ErrCount, ErrSpan, ErrSkew}},
		{Aligned, MaxCount, second, 1, []error{ErrCoarse}},
		{Aligned, MaxCount, ms / 20, 0, []error{ErrCoarse}},
		{FromFirst, 0, second, 0, []error{ErrCount}},
		{FromFirst, MaxCount + 1, second, 0, []error{ErrCount}},
		{FromFirst, 1, most + 1, 0, []error{ErrSpan}},
		{FromFirst, 1, second, second / 2, []error{ErrSkew}},
		{FromFirst, 1, 1, 1, []error{ErrSkew}},
		{FromFirst, 1, 2, 1, []error{ErrSkew}},
		{FromFirst, 0, most + 1, -1, []error{ErrCount, ErrSpan, ErrSkew}},
		{FromFirst, MaxCount, ms / 20, 0, []error{ErrCoarse}},
		{Rolling, 0, second, 0, []error{ErrCount}},
		{Rolling, MaxCount + 1, second, 0, []error{ErrCount}},
		{Rolling, 1, second, -1, []error{ErrRolling}},
		{Rolling, 1, maxSpan + 1, 0, []error{ErrRolling}},
		{Rolling, 1, maxSpan, 1, []error{ErrRolling}},
		{Rolling, 1, math.MaxInt64, 0, []error{ErrRolling}},
		{Rolling, 1, second, math.MaxInt64, []error{ErrRolling}},
		{Rolling, 1, math.MaxInt64, math.MaxInt64, []error{ErrRolling}},
		{Rolling, 0, math.MaxInt64, -1, []error{ErrCount, ErrRolling}},
		{Rolling, MaxCount, ms / 20, 0, []error{ErrCoarse}},
		{Rolling, 1025, 199, 0, []error{ErrCoarse}},
	}
	for _, c := range tests {
		w := windowed{kind: c.kind, tokens: c.tokens, span: c.span, skew: c.skew, wall: clock.NewManualWall(0)}
		l, err := w.compile()
		require.Equal(t, Limit{}, l, "%+v", w)
		for _, e := range all {
			require.Equal(t, slices.Contains(c.want, e), errors.Is(err, e), "%+v: %v", w, err)
		}
	}
}

// A span out of range says nothing about the skew.
func TestNewWindowBlamesNothingElse(t *testing.T) {
	for _, kind := range windowKinds {
		for _, span := range []int64{0, -1, -second, math.MinInt64, math.MaxInt64} {
			w := windowed{kind: kind, tokens: 1, span: span, wall: clock.NewManualWall(0)}
			_, err := w.compile()
			require.Error(t, err)
			require.NotErrorIs(t, err, ErrSkew, "%+v", w)
			if span <= 0 {
				require.ErrorIs(t, err, ErrSpan)
				require.NotErrorIs(t, err, ErrRolling, "%+v", w)
			}
		}
	}
}

// An aligned window cannot do without a wall clock.
func TestNewAlignedNeedsWall(t *testing.T) {
	_, err := NewAligned(1, second, 0, nil)
	require.Error(t, err)
}

// The largest and the smallest that there may be works.
func TestNewWindowBounds(t *testing.T) {
	for _, w := range []windowed{
		{kind: Aligned, tokens: 1, span: 1},
		{kind: Aligned, tokens: 1, span: maxRefill, skew: maxRefill/2 - 1},
		{kind: Aligned, tokens: MaxCount, span: maxRefill},
		{kind: Aligned, tokens: MaxCount, span: second},
		{kind: Aligned, tokens: 1<<18 - 1, span: second, skew: second/2 - 1},
		{kind: FromFirst, tokens: 1, span: 1},
		{kind: FromFirst, tokens: 1, span: 3, skew: 1},
		{kind: FromFirst, tokens: 1, span: maxRefill, skew: maxRefill/2 - 1},
		{kind: FromFirst, tokens: MaxCount, span: maxRefill, skew: maxRefill/2 - 1},
		{kind: Rolling, tokens: 1, span: 1},
		{kind: Rolling, tokens: 1024, span: 1},
		{kind: Rolling, tokens: 1, span: maxSpan},
		{kind: Rolling, tokens: 1, span: 1, skew: maxSpan - 1},
		{kind: Rolling, tokens: MaxCount, span: maxSpan},
		{kind: Rolling, tokens: MaxCount, span: 105 * ms},
	} {
		l := w.limit(t)
		s := newAnySlot(l, 3, 0)
		require.Equal(t, w.kind, l.Kind())
		require.Equal(t, w.tokens, l.Capacity())
		at := clock.Time(0)
		for range 3 {
			require.True(t, s.take(w.tokens, false), "%+v", w)
			require.False(t, s.take(1, false))
			wait := s.wait(w.tokens, false)
			require.LessOrEqual(t, wait, 2*w.span+w.skew+w.span/50+1, "%+v", w)
			require.Positive(t, wait)
			s.touch(at + clock.Time(wait)/2)
			if wait > 1 && w.kind == Rolling {
				require.False(t, s.take(w.tokens, false), "%+v", w)
			}
			at += clock.Time(wait)
			s.touch(at)
		}
	}
}

// The ring of a limit of any size holds what it must: a power of two, at least
// twice the groups, and no more than 2^g tokens in one.
func TestRingSizes(t *testing.T) {
	var sizes []int64
	for n := int64(1); n <= MaxCount; n += 1 + n/7 {
		sizes = append(sizes, n)
	}
	for n := int64(1024); n < MaxCount; n *= 2 {
		sizes = append(sizes, n-1, n, n+1)
	}
	for _, tokens := range append(sizes, MaxCount) {
		l := windowed{kind: Rolling, tokens: tokens, span: minute}.limit(t)
		r := &l.roll
		entries := int64(r.mask + 1)
		groups := (tokens + 1<<r.group - 1) >> r.group
		require.Zero(t, entries&(entries-1))
		require.GreaterOrEqual(t, entries, 2*groups)
		require.LessOrEqual(t, groups, int64(exactTokens))
		require.Equal(t, tokens <= exactTokens, r.group == 0, "%d tokens", tokens)
		if r.group > 0 { // no larger than need be
			require.Greater(t, (tokens+1<<(r.group-1)-1)>>(r.group-1), int64(exactTokens))
		}
		require.Equal(t, int(entries)+1, l.RingWords())
	}
}

// The reserve is for urgent calls, of every kind.
func TestReserveIsUrgent(t *testing.T) {
	for _, kind := range allKinds {
		for _, tokens := range []int64{10, 5000} {
			w := windowed{kind: kind, tokens: tokens, span: second, reserve: 4}
			s := newAnySlot(w.limit(t), 3, 0)
			l := s.limit()
			require.Equal(t, []int64{tokens - 4, tokens}, []int64{l.Most(false), l.Most(true)})
			require.True(t, s.take(tokens-4, false), "%+v", w)
			require.False(t, s.take(1, false))
			require.Zero(t, s.left(false))
			require.Equal(t, int64(4), s.left(true))
			require.Positive(t, s.wait(1, false))
			require.Zero(t, s.wait(4, true))
			require.True(t, s.take(4, true))
			require.False(t, s.take(1, true))
			s = newAnySlot(w.limit(t), 3, 0)
			require.True(t, s.take(tokens, true), "more than an ordinary call may take at once")
		}
		w := windowed{kind: kind, tokens: 10, span: second}
		l := w.limit(t)
		for _, n := range []int64{-1, 10, 11, math.MaxInt64, math.MinInt64} {
			_, err := l.WithReserve(n)
			require.ErrorIs(t, err, ErrReserve)
		}
	}
}
