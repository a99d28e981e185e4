package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// helper completes the take in a word, one swap at a time, with any stall before
// each: it saw the word unmoved, and swaps later.
type helper struct {
	swaps []swap
}

type swap struct {
	word     uint64 // of the ring
	old, new uint64
}

// helper returns one that has prepared what is to be swapped for the take in the
// word. The last swap is that of the base.
func (s *anySlot) helper() (h helper) {
	l := s.limit()
	c := s.cell(l)
	r := &l.roll
	t := r.read(c.Raw, c.Origin, s.seen)
	b := base(c.Ring.word(0).Load())
	from := b.tokens()
	more := (t.n - from) & r.countMask()
	if more == 0 {
		return h
	}
	for g := from >> r.group; g <= (from+more-1)>>r.group; g++ {
		old := c.Ring.at(r, g)
		voids := int64(0)
		if g == from>>r.group && from&(1<<r.group-1) != 0 {
			voids = old.voids(r)
		}
		h.swaps = append(h.swaps, swap{1 + g&r.mask, uint64(old), uint64(r.entry(t.at, voids))})
	}
	h.swaps = append(h.swaps, swap{0, uint64(b), uint64(newBase(s.owner&(1<<16-1), from+more, r.age(b.voids(), from, from+more)))})
	return h
}

// step does h's next swap. One that fails ends it: the helper would look at the word
// again.
func (s *anySlot) step(h *helper) (swapped bool) {
	w := h.swaps[0]
	h.swaps = h.swaps[1:]
	if !s.limit().Ring(0).word(w.word).CompareAndSwap(w.old, w.new) {
		h.swaps = nil
		return false
	}
	return true
}

// Whatever helpers write that have stalled, and however late: never more than the
// tokens in any span, and all of them once a span has passed.
func TestStalledHelpersMintNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	swaps := 0
	for range 600 {
		w := windowed{kind: Rolling, tokens: 1 + rng.Int64N(20), span: 1000}
		if rng.IntN(4) == 0 {
			w.tokens, w.span = 1025+rng.Int64N(5000), 1<<20
		}
		s := newAnySlot(w.limit(t), 7, 0)
		var j journal
		var helpers []helper
		for range 120 {
			switch rng.IntN(4) {
			case 0:
				s.touch(s.seen + clock.Time(rng.Int64N(w.span/2)))
			case 1:
				s.touch(s.seen + clock.Time(rng.Int64N(3)))
			}
			if n := 1 + rng.Int64N(w.tokens); s.take(n, false) {
				j = append(j, sent{s.seen, n})
				helpers = append(helpers, s.helper())
			}
			if rng.IntN(4) == 0 && len(j) > 0 {
				k := len(j) - 1 - rng.IntN(min(len(j), 3))
				s.giveBack(j[k].at, j[k].n)
				j = j.without(k)
			}
			for range rng.IntN(4) {
				if k := rng.IntN(len(helpers) + 1); k < len(helpers) && len(helpers[k].swaps) > 0 && s.step(&helpers[k]) {
					swaps++
				}
			}
			if rng.IntN(60) == 0 { // the slot is another key's
				require.LessOrEqual(t, j.mostInSpan(w.span), w.tokens)
				j = nil
				s.owner++
				s.o = OriginOf(s.owner)
				c := s.cell(s.limit())
				c.Open()
				s.word.Store(s.limit().Empty(s.o, s.seen))
			}
		}
		require.LessOrEqual(t, j.mostInSpan(w.span), w.tokens, "%+v", w)
		s.touch(s.seen + clock.Time(w.span) + 1<<20)
		require.Equal(t, w.tokens, s.left(false), "%+v", w)
	}
	require.Greater(t, swaps, 1000)
}

// A helper that dates an entry once more, after the take is complete and a token of
// it was given back, leaves that as it is.
func TestDatingAgainKeepsWhatWasGivenBack(t *testing.T) {
	for _, tokens := range []int64{8, 5000} {
		s := newAnySlot(windowed{kind: Rolling, tokens: tokens, span: second}.limit(t), 7, 0)
		l := s.limit()
		require.True(t, s.take(3, false))
		s.touch(5)
		require.True(t, s.take(tokens-3, false))
		c := s.cell(l)
		from := base(c.Ring.word(0).Load()).tokens() // the helper looked here
		require.Equal(t, uint64(3), from)
		at := l.roll.read(c.Raw, c.Origin, s.seen).at
		require.Equal(t, tokens, s.spent())
		s.giveBack(5, tokens-3)
		spent := s.spent()
		require.Less(t, spent, tokens)
		for g := from >> l.roll.group; g <= uint64(tokens-1)>>l.roll.group; g++ {
			require.True(t, l.date(at, &c, from, g))
		}
		require.Equal(t, spent, s.spent())
	}
}

// A helper that comes after the word moved dates nothing.
func TestDatingTooLate(t *testing.T) {
	s := newAnySlot(windowed{kind: Rolling, tokens: 8, span: 1000}.limit(t), 7, 0)
	l := s.limit()
	require.True(t, s.take(8, false))
	old := s.cell(l)
	for now := clock.Time(1000); now <= 2000; now += 1000 {
		s.touch(now)
		require.True(t, s.take(8, false)) // the ring, of 16, goes round
	}
	require.Equal(t, int64(8), s.spent())
	for g := range uint64(8) {
		require.False(t, l.date(0, &old, 0, g))
	}
	require.Equal(t, int64(8), s.spent())
	require.False(t, s.take(1, false))
	_, ok := l.complete(taken{at: 0, n: 8}, &old)
	require.False(t, ok)
}

// The ring forgets that something was given back once that is out of it: then a take
// is one look again.
func TestRingForgetsVoids(t *testing.T) {
	for _, tokens := range []int64{8, 5000} {
		s := newAnySlot(windowed{kind: Rolling, tokens: tokens, span: second}.limit(t), 7, 0)
		c := s.cell(s.limit())
		voids := func() uint64 { return base(c.Ring.word(0).Load()).voids() }
		require.True(t, s.take(tokens, false))
		s.giveBack(0, 1)
		require.Positive(t, voids())
		laps := 0
		for ; voids() > 0; laps++ {
			require.Less(t, laps, 5)
			s.touch(s.seen + clock.Time(2*second))
			require.True(t, s.take(tokens, false))
			require.Equal(t, tokens, s.spent())
		}
		require.Positive(t, laps)
	}
}
