package bucket

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// Never more than the tokens in any span, wherever the clock of the callers stands.
func TestRollingAtHugeTimes(t *testing.T) {
	for _, at := range []clock.Time{
		0, -1, 1 << 61, -1 << 61, 1<<62 - 1, 1 << 62, 1<<62 + 1, -1 << 62, -1<<62 - 1,
		math.MaxInt64 - 1<<50, math.MinInt64 + 1<<50,
	} {
		for _, tokens := range []int64{10, 5000} {
			s := newAnySlot(windowed{kind: Rolling, tokens: tokens, span: second}.limit(t), 9, at)
			require.True(t, s.take(tokens, false))
			require.False(t, s.take(1, false), "%d tokens at %d", tokens, at)
			wait := s.wait(1, false)
			require.InDelta(t, second, wait, 8, "%d tokens at %d", tokens, at)
			s.touch(at + clock.Time(wait))
			require.True(t, s.take(tokens, false), "%d tokens at %d", tokens, at)
			require.False(t, s.take(1, false), "%d tokens at %d", tokens, at)
		}
	}
}

// Half-open: what was taken exactly a span ago is out.
func TestRollingIsHalfOpen(t *testing.T) {
	for _, skew := range []int64{0, 30} {
		s := newAnySlot(windowed{kind: Rolling, tokens: 3, span: 1000, skew: skew}.limit(t), 9, 0)
		for _, at := range []clock.Time{0, 1, 500} {
			s.touch(at)
			require.True(t, s.take(1, false))
		}
		over := clock.Time(1000 + skew)
		require.Equal(t, int64(over-500), s.wait(1, false))
		require.Equal(t, int64(over-499), s.wait(2, false))
		require.Equal(t, int64(over), s.wait(3, false))
		require.Equal(t, int64(over), s.busy())
		s.touch(over - 1)
		require.Zero(t, s.left(false))
		require.False(t, s.take(1, false))
		s.touch(over)
		require.Equal(t, int64(1), s.left(false))
		require.True(t, s.take(1, false))
		require.False(t, s.take(1, false))
	}
}

// However many rounds the ring went, and wherever its number of tokens goes back.
func TestRollingGoesRound(t *testing.T) {
	for _, tokens := range []int64{1, 7, 8, 9, 1024, 1025, 4096} {
		l := windowed{kind: Rolling, tokens: tokens, span: 1 << 20}.limit(t)
		for _, start := range []uint64{0, wrapAt - 3*uint64(tokens) - 1} {
			s := newAnySlot(l, 9, 0)
			// As if so many had been taken before, long ago.
			c := s.cell(s.limit())
			for g := range s.limit().roll.mask + 1 {
				c.Ring.word(1 + g).Store(uint64(s.limit().roll.entry(-1<<30, 0)))
			}
			c.Ring.word(0).Store(uint64(newBase(9, start, 0)))
			s.word.Store(s.limit().fullRolling(s.o, 0, start))
			var j journal
			for now := clock.Time(0); len(j) < 6000 && now < 1<<26; now += clock.Time(1<<20/tokens/2 + 1) {
				s.touch(now)
				for n := range int64(3) {
					if n = min(n+1, tokens); s.take(n, false) {
						j = append(j, sent{now, n})
					}
				}
			}
			require.Equal(t, tokens, j.mostInSpan(1<<20), "%d tokens after %d", tokens, start)
			b := base(c.Ring.word(0).Load())
			if start > 0 {
				require.Less(t, b.tokens(), uint64(wrapAt))
				require.Greater(t, b.tokens(), uint64(wrapBy-1))
			}
		}
	}
}

// Tokens that are given back again and again need no room. Behind one that counts they
// do: it changes places with one of them, so that it counts for longer, and the key is
// never shut.
func TestRollingMakesRoom(t *testing.T) {
	s := newAnySlot(windowed{kind: Rolling, tokens: 16, span: 1000}.limit(t), 9, 0)
	for now := range clock.Time(100) {
		s.touch(now)
		require.True(t, s.take(1, false), "take %d", now)
		s.giveBack(now, 1)
		require.Zero(t, s.spent())
	}
	s.touch(100)
	require.True(t, s.take(1, false))
	j := journal{{100, 1}}
	for now := 101 + clock.Time(0); now < 500; now++ {
		s.touch(now)
		require.True(t, s.take(1, false), "take %d", now)
		s.giveBack(now, 1)
		require.Equal(t, int64(1), s.spent())
	}
	for s.take(1, false) {
		j = append(j, sent{s.seen, 1})
	}
	require.Len(t, j, 16)
	s.touch(1100)
	require.False(t, s.take(1, false), "the first counts as of a later time")
	s.touch(1500)
	for s.take(1, false) {
		j = append(j, sent{s.seen, 1})
	}
	require.LessOrEqual(t, j.mostInSpan(1000), int64(16))
	require.Len(t, j, 32)
}

// A caller that is a little late, within a table's grain, comes to a ring that went
// round meanwhile with what was given back: what is gone from it counts for the late
// caller still.
func TestRollingLateCaller(t *testing.T) {
	s := newAnySlot(windowed{kind: Rolling, tokens: 2, span: 1000}.limit(t), 9, 0)
	s.touch(100)
	require.True(t, s.take(2, false)) // sent
	s.touch(1100)
	for range 40 {
		if s.take(1, false) {
			s.giveBack(1100, 1)
		}
	}
	for _, now := range []clock.Time{1060, 1099} {
		l, _, cur, c := s.at()
		_, got := l.Try(cur, &c, now, 1, false)
		require.Equal(t, Short, got, "three in the span that ends at %d", now)
	}
}

// A give-back that stalled while the ring went round must not mark what was taken
// since: those tokens count.
func TestRollingStalledGiveBack(t *testing.T) {
	s := newAnySlot(windowed{kind: Rolling, tokens: 8, span: 1000}.limit(t), 9, 0)
	require.True(t, s.take(8, false))
	l := s.limit()
	c := s.cell(l)
	b := l.ring(c.Raw, &c, 0)
	from, to := l.inSpan(&c, b, 0)
	require.Less(t, from, to)
	// Here it stalls. The ring, of 16, goes round.
	var j journal
	for now := clock.Time(1000); now <= 2000; now += 1000 {
		s.touch(now)
		require.True(t, s.take(8, false))
		j = append(j, sent{now, 8})
	}
	require.Equal(t, int64(8), s.spent()) // whoever looks completes the ring
	l.void(&c, b, from, 1)
	s.touch(2001)
	s.giveBack(2000, 1) // another one, rightly
	j[1].n--
	for s.take(1, false) {
		j = append(j, sent{2001, 1})
	}
	require.LessOrEqual(t, j.mostInSpan(1000), int64(8))
}

// A refund gives back the tokens of its take, in whatever order refunds come.
func TestRollingGivesBackItsOwn(t *testing.T) {
	s := newAnySlot(windowed{kind: Rolling, tokens: 8, span: 1000}.limit(t), 9, 0)
	require.True(t, s.take(1, false))
	s.touch(600)
	require.True(t, s.take(4, false))
	s.giveBack(600, 4)
	require.Equal(t, int64(1), s.spent())
	s.giveBack(0, 1)
	require.Zero(t, s.spent())
	s.touch(700)
	require.True(t, s.take(2, false))
	s.touch(1600)
	s.giveBack(600, 4) // time gave them back
	require.Equal(t, int64(2), s.spent())
}

// More than the capacity says no more than the capacity; and what a charge pushes
// out of the ring counts all the same.
func TestRollingCharges(t *testing.T) {
	for _, tokens := range []int64{8, 5000} {
		for _, n := range []int64{tokens, tokens + 1, 1 << 12, 1 << 32, math.MaxInt64} {
			s := newAnySlot(windowed{kind: Rolling, tokens: tokens, span: second}.limit(t), 9, 0)
			s.charge(max(n, tokens))
			require.Zero(t, s.left(false))
			require.Equal(t, tokens, s.spent(), "%d of %d", n, tokens)
		}
	}
	s := newAnySlot(windowed{kind: Rolling, tokens: 8, span: 1000}.limit(t), 9, 0)
	require.True(t, s.take(7, false))
	s.touch(1)
	for range 9 {
		require.True(t, s.take(1, false))
		s.giveBack(1, 1)
	}
	require.Equal(t, int64(7), s.spent())
	s.touch(2)
	s.charge(1)
	require.GreaterOrEqual(t, s.spent(), int64(8))
	require.Zero(t, s.left(false))
}
