package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// A window opens with its first event: giving back what nobody took opens none.
func TestFromFirstCreditOpensNoWindow(t *testing.T) {
	for _, before := range []bool{false, true} {
		s := newAnySlot(windowed{kind: FromFirst, tokens: 10, span: 1000}.limit(t), 5, 0)
		if before { // a window that is over
			s.touch(-5000)
			require.True(t, s.take(10, false))
		}
		s.touch(0)
		s.touch(5000)
		s.credit(3)
		s.touch(5999)
		require.Equal(t, int64(10), s.left(false))
		require.True(t, s.take(10, false))
		s.touch(6000)
		require.False(t, s.take(1, false), "the window opened at 5999")
		require.Equal(t, int64(999), s.wait(1, false))
	}
}

// A look and a charge of nothing open none either.
func TestFromFirstNothingOpensNoWindow(t *testing.T) {
	s := newAnySlot(windowed{kind: FromFirst, tokens: 10, span: 1000}.limit(t), 5, 0)
	require.True(t, s.take(0, false))
	s.charge(0)
	s.touch(999)
	require.True(t, s.take(10, false))
	s.touch(1000)
	require.False(t, s.take(1, false), "the window opened at 999")
}

// What was given back was not sent, so a window that counted only that did not
// open: whatever is taken and given back, nothing is sent that the venue refuses.
func TestFromFirstGivenBack(t *testing.T) {
	for _, skew := range []int64{0, 100} {
		w := windowed{kind: FromFirst, tokens: 10, span: 1000, skew: skew}
		for _, again := range []clock.Time{1, 500, 899, 900, 999, 1000, 1099} {
			s := newAnySlot(w.limit(t), 5, 0)
			require.True(t, s.take(1, false))
			s.touch(1)
			s.giveBack(0, 1)
			var j journal
			for now := again; now < 5000; now++ {
				s.touch(now)
				for s.take(1, false) {
					j = append(j, sent{now, 1})
				}
			}
			require.LessOrEqual(t, j.mostFromFirst(w.span), w.tokens, "skew %d, first sent at %d", skew, again)
		}
	}
}

// Whatever is taken, and given back before its window is over, in whatever order: of
// what was sent, a venue with our clock refuses nothing. What is given back later comes too late to be of any help.
func TestFromFirstRefundsAtRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	for k := range 4000 {
		w := windowed{kind: FromFirst, tokens: 1 + rng.Int64N(6), span: 100 + rng.Int64N(200)}
		if k%2 == 0 {
			w.skew = rng.Int64N(w.span / 4)
		}
		if k%5 == 0 { // a word that is rounded
			w.tokens, w.span, w.skew = w.tokens*100_000, w.span*10_000, w.skew*10_000
		}
		s := newAnySlot(w.limit(t), 5, clock.Time(rng.Int64N(1000)))
		var j journal
		for range 60 {
			s.touch(s.seen + clock.Time(rng.Int64N(w.span/4)*rng.Int64N(2)))
			if n := 1 + rng.Int64N(w.tokens); s.take(n, false) {
				j = append(j, sent{s.seen, n})
			}
			if rng.IntN(3) == 0 && len(j) > 0 {
				k := len(j) - 1 - rng.IntN(min(len(j), 3))
				l, _, cur, c := s.at()
				if int64(j[k].at) < l.Window(cur, c.Origin, s.seen) {
					continue
				}
				s.giveBack(j[k].at, j[k].n)
				j = j.without(k)
			}
		}
		require.LessOrEqual(t, j.mostFromFirst(w.span), w.tokens, "%+v", w)
	}
}

// The first event of a window is given back, then the one that was first without it.
func TestFromFirstRefundsInTurn(t *testing.T) {
	w := windowed{kind: FromFirst, tokens: 3, span: 100}
	s := newAnySlot(w.limit(t), 5, 0)
	for _, at := range []clock.Time{0, 40, 80} {
		s.touch(at)
		require.True(t, s.take(1, false))
		if at > 0 {
			s.giveBack(at-40, 1)
		}
	}
	j := journal{{80, 1}} // the venue's window is [80, 180)
	for now := clock.Time(81); now < 400; now++ {
		s.touch(now)
		for s.take(1, false) {
			j = append(j, sent{now, 1})
		}
	}
	require.LessOrEqual(t, j.mostFromFirst(w.span), w.tokens)
}

// A refund of the first event leaves the skew to what it is for.
func TestFromFirstRefundsSeenLate(t *testing.T) {
	w := windowed{kind: FromFirst, tokens: 2, span: 100, skew: 20}
	s := newAnySlot(w.limit(t), 5, 0)
	require.True(t, s.take(1, false))
	s.touch(20)
	require.True(t, s.take(1, false))
	s.giveBack(0, 1)
	j := journal{{20 + 20, 1}} // as the venue may see it
	for now := clock.Time(21); now < 400; now++ {
		s.touch(now)
		for s.take(1, false) {
			j = append(j, sent{now, 1})
		}
	}
	require.LessOrEqual(t, j.mostFromFirst(w.span), w.tokens)
}

// A window whose end is rounded to quanta: what comes between the end and the next
// quantum belongs to the next window.
func TestFromFirstRounded(t *testing.T) {
	for _, skew := range []int64{0, 1e6} {
		w := windowed{kind: FromFirst, tokens: 1 << 24, span: second + 1, skew: skew}
		l := w.limit(t)
		q := clock.Time(1) << l.window.quant
		require.Greater(t, q, clock.Time(4))
		s := newAnySlot(l, 5, 0)
		require.True(t, s.take(1, false))
		over := clock.Time(w.span + w.skew)
		j := journal{{0, 1}}
		for now := over - 1; now < over+3*q; now++ {
			s.touch(now)
			if s.take(w.tokens/2+1, false) {
				j = append(j, sent{now, w.tokens/2 + 1})
			}
		}
		require.Len(t, j, 2, "skew %d", skew)
		require.LessOrEqual(t, j.mostFromFirst(w.span), w.tokens, "skew %d", skew)

		// The shut part of a window begins no later for it.
		if skew > 0 {
			s := newAnySlot(l, 5, 0)
			require.True(t, s.take(1, false))
			s.touch(clock.Time(w.span - w.skew))
			require.False(t, s.take(1, false), "skew %d", skew)
		}
	}
}

// The first take of a window is given back like any other, though the end of the
// window was rounded.
func TestFromFirstRoundedGivesBack(t *testing.T) {
	for start := range clock.Time(16) {
		s := newAnySlot(windowed{kind: FromFirst, tokens: 1 << 20, span: second + 1}.limit(t), 5, start)
		require.True(t, s.take(7, false))
		require.True(t, s.take(2, false))
		s.touch(start + 5)
		s.giveBack(start, 7)
		require.Equal(t, int64(2), s.spent())
	}
}

// With a change of the skew, the window in force follows the new one.
func TestFromFirstSkewChanges(t *testing.T) {
	for _, c := range []struct{ from, to int64 }{{0, 100}, {100, 0}, {100, 300}, {300, 100}} {
		w := windowed{kind: FromFirst, tokens: 10, span: 1000, skew: c.from}
		s := newAnySlot(w.limit(t), 5, 0)
		require.True(t, s.take(4, false))
		w.skew = c.to
		s.apply(w.limit(t), 10)
		s.touch(clock.Time(1000-c.to) - 1)
		require.True(t, s.take(1, false), "%+v", c)
		s.touch(clock.Time(1000 - c.to))
		if c.to > 0 {
			require.False(t, s.take(1, false), "%+v", c)
			require.Equal(t, 2*c.to, s.wait(1, false), "%+v", c)
			s.touch(clock.Time(1000+c.to) - 1)
			require.False(t, s.take(1, false), "%+v", c)
		}
		s.touch(clock.Time(1000 + c.to))
		require.True(t, s.take(10, false), "%+v", c)
	}
}
