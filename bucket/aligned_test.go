package bucket

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Boundaries are whole multiples of wall time, also before 1970; the window's number
// says which one.
func TestAlignedBoundaries(t *testing.T) {
	for _, offset := range []int64{0, 1, -1, 7, -500, 12345, -12345, 1 << 60, -1 << 60, 1_700_000_000_000_000_123} {
		wall := clock.NewManualWall(time.Duration(offset))
		w := windowed{kind: Aligned, tokens: 3, span: 5 * ms, wall: wall}
		for _, near := range []int64{-3, -1, 0, 1, 2, 1 << 40, -1 << 40} {
			// The boundary in wall time; the time of it here.
			at := near*w.span - offset%w.span
			number := (at + offset) / w.span
			require.Zero(t, (at+offset)%w.span)
			b := clock.Time(at)
			s := newAnySlot(w.limit(t), 9, b-2)
			s.touch(b - 1)
			require.True(t, s.take(3, false))
			require.False(t, s.take(1, false))
			require.Equal(t, int64(1), s.wait(1, false))
			l, _, cur, c := s.at()
			require.Equal(t, number-1, l.Window(cur, c.Origin, s.seen), "offset %d, near %d", offset, near)
			s.touch(b)
			require.True(t, s.take(3, false))
			require.False(t, s.take(1, false))
			require.Equal(t, w.span, s.wait(1, false))
			_, _, cur, _ = s.at()
			require.Equal(t, number, l.Window(cur, c.Origin, s.seen))
			s.touch(b + clock.Time(w.span) - 1)
			require.False(t, s.take(1, false))
			s.touch(b + clock.Time(w.span))
			require.True(t, s.take(1, false))
		}
	}
}

// What passes in the skew after a boundary counts in both windows.
func TestAlignedSkew(t *testing.T) {
	w := windowed{kind: Aligned, tokens: 10, span: 100 * ms, skew: 10 * ms}
	s := newAnySlot(w.limit(t), 9, 0)
	b := clock.Time(w.span)
	s.touch(b - 1)
	require.True(t, s.take(6, false))
	s.touch(b) // in both
	require.Equal(t, int64(4), s.left(false))
	require.True(t, s.take(4, false))
	require.Equal(t, 10*ms, s.wait(6, false))
	require.Equal(t, 110*ms, s.wait(7, false))
	require.Equal(t, 110*ms, s.busy())
	s.touch(b + clock.Time(w.skew) - 1)
	require.False(t, s.take(1, false))
	s.touch(b + clock.Time(w.skew))
	require.Equal(t, int64(6), s.left(false))
	require.True(t, s.take(6, false))
	require.False(t, s.take(1, false))
	require.Equal(t, 100*ms, s.wait(1, false))
}

// What came late counts in the next window, whatever a give-back leaves of a count
// that had saturated.
func TestLateIsCounted(t *testing.T) {
	w := windowed{kind: Aligned, tokens: 127, span: 100 * ms, skew: 10 * ms}
	s := newAnySlot(w.limit(t), 9, 0)
	require.True(t, s.take(127, false))
	s.touch(clock.Time(w.span))
	s.charge(2) // the count is full; it counts in the next window
	s.giveBack(0, 127)
	require.Equal(t, int64(2), s.spent())
	require.Equal(t, int64(125), s.left(false))
}

// A window whose end is rounded to quanta: what comes between the boundary and the
// next quantum belongs to the next window.
func TestAlignedRounded(t *testing.T) {
	for _, skew := range []int64{0, 3 * ms} {
		for _, offset := range []int64{0, 1, 77} {
			wall := clock.NewManualWall(time.Duration(offset))
			w := windowed{kind: Aligned, tokens: 1 << 17, span: second + 1, skew: skew, wall: wall}
			if skew == 0 {
				w.tokens = 1 << 24
			}
			l := w.limit(t)
			q := clock.Time(1) << l.window.quant
			require.Greater(t, q, clock.Time(4))
			s := newAnySlot(l, 9, 0)
			require.True(t, s.take(1, false))
			over := clock.Time(w.span - offset)
			j := journal{{0, 1}}
			for now := over; now < over+3*q; now++ {
				s.touch(now)
				if s.take(w.tokens/2, false) {
					j = append(j, sent{now, w.tokens / 2})
				}
			}
			// A span after, all is taken that is left of the window.
			s.touch(over + clock.Time(w.span)/2)
			for n := w.tokens; n > 0; n /= 2 {
				if s.take(n, false) {
					j = append(j, sent{s.seen, n})
				}
			}
			require.LessOrEqual(t, j.mostAligned(w.span, offset), w.tokens, "skew %d, offset %d", skew, offset)
		}
	}
}

// A wall clock that is set back makes the old window reach into the new one, and
// what it counted counts there as well; one that is set forward changes nothing
// before the window's end; one that is slewed changes nothing.
func TestAlignedWallJumps(t *testing.T) {
	const span = second
	take := func(offset, by int64, at clock.Time) (*anySlot, *clock.ManualWall) {
		wall := clock.NewManualWall(time.Duration(offset))
		s := newAnySlot(windowed{kind: Aligned, tokens: 10, span: span, wall: wall}.limit(t), 9, at)
		require.True(t, s.take(7, false))
		wall.SetOffset(time.Duration(offset + by))
		return s, wall
	}
	for _, offset := range []int64{0, 5 * span, -7 * span} {
		// Set back by 0.3 s in the middle of a window, which ends at 1 s.
		s, _ := take(offset, -3*span/10, clock.Time(span/2))
		require.Equal(t, int64(3), s.left(false))
		s.touch(clock.Time(span) - 1)
		require.Equal(t, int64(3), s.left(false))
		s.touch(clock.Time(span))
		require.Equal(t, int64(3), s.left(false), "the same window by the new time")
		require.True(t, s.take(3, false))
		require.Equal(t, 3*span/10, s.wait(1, false))
		s.touch(clock.Time(13 * span / 10))
		require.Equal(t, int64(10), s.left(false))

		// Set forward by 0.3 s: the window in force ends when it was to end, and some
		// of what it counted was in the next one.
		s, _ = take(offset, 3*span/10, clock.Time(span/2))
		s.touch(clock.Time(7 * span / 10))
		require.Equal(t, int64(3), s.left(false))
		s.touch(clock.Time(span))
		require.Equal(t, int64(3), s.left(false))
		require.True(t, s.take(3, false))
		require.Equal(t, 7*span/10, s.wait(1, false))
		s.touch(clock.Time(17 * span / 10))
		require.Equal(t, int64(10), s.left(false))

		// Slewed by up to a millisecond.
		for _, by := range []int64{-ms, -1, 1, ms} {
			s, _ = take(offset, by, clock.Time(span/2))
			s.touch(clock.Time(span + ms))
			require.Equal(t, int64(10), s.left(false), "slewed by %d", by)
		}
		s, _ = take(offset, -ms-1, clock.Time(span/2))
		s.touch(clock.Time(span))
		require.Equal(t, int64(3), s.left(false))
	}
}

// The number of a window stays the same while the wall clock is slewed.
func TestAlignedNumberWhileSlewed(t *testing.T) {
	wall := clock.NewManualWall(0)
	s := newAnySlot(windowed{kind: Aligned, tokens: 10, span: second, wall: wall}.limit(t), 9, clock.Time(7*second))
	require.True(t, s.take(1, false))
	for _, by := range []int64{0, -ms, ms} {
		wall.SetOffset(time.Duration(by))
		l, _, cur, c := s.at()
		require.Equal(t, int64(7), l.Window(cur, c.Origin, s.seen), "slewed by %d", by)
	}
}

// A key of which the wall clock's step left something counted is not idle.
func TestAlignedBusyAfterWallJump(t *testing.T) {
	wall := clock.NewManualWall(0)
	s := newAnySlot(windowed{kind: Aligned, tokens: 10, span: second, wall: wall}.limit(t), 9, clock.Time(second/2))
	require.True(t, s.take(7, false))
	wall.SetOffset(time.Duration(-3 * second / 10))
	s.touch(clock.Time(second))
	require.Equal(t, int64(7), s.spent())
	require.Equal(t, 3*second/10, s.busy())
}

// A window may be shorter than what a wall clock is slewed by: what came late in one
// counts in the next one and in none after that.
func TestAlignedShorterThanSlew(t *testing.T) {
	for _, span := range []int64{3, 1000, ms / 2, ms} {
		w := windowed{kind: Aligned, tokens: 10, span: span, skew: (span - 1) / 2}
		s := newAnySlot(w.limit(t), 9, 0)
		require.True(t, s.take(10, false))
		for range 5 {
			wait := s.wait(10, false)
			s.touch(s.seen + clock.Time(wait))
			require.True(t, s.take(10, false), "span of %d, after %d", span, wait)
		}
		s.touch(s.seen + clock.Time(3*span))
		require.Equal(t, int64(10), s.left(false), "span of %d", span)
	}
}

// Near the ends of the clock.
func TestAlignedAtHugeTimes(t *testing.T) {
	for _, at := range []clock.Time{math.MaxInt64 - 1<<57, math.MinInt64 + 1<<57, 1 << 62, -1 << 62} {
		for _, skew := range []int64{0, ms} {
			w := windowed{kind: Aligned, tokens: 10, span: second, skew: skew}
			s := newAnySlot(w.limit(t), 9, at)
			require.True(t, s.take(10, false))
			require.False(t, s.take(1, false))
			wait := s.wait(10, false)
			s.touch(at + clock.Time(wait) - 1)
			require.False(t, s.take(10, false))
			s.touch(at + clock.Time(wait))
			require.True(t, s.take(10, false))
			require.False(t, s.take(1, false))
		}
	}
}

// With a change of the skew, the window in force follows the new one.
func TestAlignedSkewChanges(t *testing.T) {
	for _, c := range []struct{ from, to int64 }{{0, 10}, {10, 0}, {10, 30}, {30, 10}, {1, 0}, {0, 1}} {
		for _, apply := range []int64{50, 99, 100, 104, 109, 120} { // ms; the boundary is at 100
			w := windowed{kind: Aligned, tokens: 10, span: 100 * ms, skew: c.from * ms}
			s := newAnySlot(w.limit(t), 9, 0)
			var j journal
			drain := func() {
				for s.take(1, false) {
					j = append(j, sent{s.seen, 1})
				}
			}
			for now := int64(40); now < 500; now++ {
				s.touch(clock.Time(now * ms))
				if now == apply {
					w.skew = c.to * ms
					s.apply(w.limit(t), s.seen)
				}
				if now == 40 {
					require.True(t, s.take(1, false))
					j = append(j, sent{s.seen, 1})
				}
				if now >= apply {
					drain()
				}
			}
			require.LessOrEqual(t, j.mostAligned(w.span, 0), w.tokens, "%+v, at %d", c, apply)
			// After the change, what a venue counts that is a little late as well.
			late := min(c.from, c.to) * ms
			for k := range j {
				j[k].at -= clock.Time(late)
			}
			require.LessOrEqual(t, j.mostAligned(w.span, 0), w.tokens, "%+v, at %d, late", c, apply)
		}
	}
}

// What is given back in the skew after a boundary leaves nothing in the next window
// that is not left in this one.
func TestLateIsGivenBack(t *testing.T) {
	w := windowed{kind: Aligned, tokens: 10, span: 100 * ms, skew: 10 * ms}
	s := newAnySlot(w.limit(t), 9, 0)
	s.touch(clock.Time(w.span))
	require.True(t, s.take(8, false))
	s.credit(5)
	require.Equal(t, int64(3), s.spent())
	s.touch(clock.Time(w.span + w.skew))
	require.LessOrEqual(t, s.spent(), int64(3))
	s.giveBack(clock.Time(w.span), 8)
	require.Zero(t, s.spent())
}
