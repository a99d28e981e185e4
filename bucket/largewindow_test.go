package bucket

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// largeWindow reads a limit of so many tokens that a word or a ring rounds it.
func (t *tape) largeWindow(kind Kind) windowed {
	for {
		w := windowed{
			kind:   kind,
			tokens: MaxCount >> t.below(20),
			span:   []int64{100 * ms, second, 999_999_937, minute, day}[t.below(5)],
		}
		if t.below(2) == 0 && w.tokens < MaxCount { // no power of two
			w.tokens += int64(t.uint(4)) % w.tokens
		}
		if t.below(2) == 0 {
			w.skew = w.span / 50
		}
		if t.below(3) == 0 {
			w.reserve = int64(t.uint(4)) % w.tokens
		}
		if w.tokens < 1025 {
			w.tokens += 1025
		}
		c := w
		c.wall = clock.NewManualWall(0)
		if _, err := c.compile(); err == nil {
			return w
		}
		if t.done() {
			return windowed{kind: kind, tokens: 1025, span: second}
		}
	}
}

// part reads a number of tokens to take, often a large part of the capacity.
func (t *tape) part(l *Limit, urgent bool) int64 {
	c := l.Most(urgent)
	switch t.below(6) {
	case 0:
		return c
	case 1:
		return c/2 + 1
	case 2:
		return int64(t.uint(8)>>1) % (c + 1)
	case 3:
		return min(c, 1<<l.roll.group-1)
	}
	return c / (1 + int64(t.uint(1)))
}

// Where a word or a ring rounds, nothing passes that the model denies; and what
// does not pass is bounded by what the rounding can be.
func TestLargeWindowsNeverAdmitMore(t *testing.T) {
	for _, kind := range windowKinds {
		t.Run(kindNames[kind], func(t *testing.T) {
			rng := rand.New(rand.NewPCG(32, uint64(kind)))
			for range 1000 {
				b := make([]byte, 40+rng.IntN(500))
				for i := range b {
					b[i] = byte(rng.Uint32())
				}
				runLarge(t, kind, &tape{b})
			}
		})
	}
}

func runLarge(t testing.TB, kind Kind, tape *tape) {
	w := tape.largeWindow(kind)
	p := newWindowPair(t, w, tape.uint(2), clock.Time(int64(tape.uint(8))>>3), int64(tape.uint(8))>>3)
	defer p.explain()
	plain := tape.below(2) == 0 // takes only
	p.refunds = true
	var j journal
	for !tape.done() {
		if op := tape.below(8); !plain && op < 3 {
			now := p.moment(tape)
			if op == 0 {
				p.charge(now, tape.part(p.s.limit(), true))
			} else if kind != FromFirst { // the steps of its hold begin elsewhere
				p.refund(now, int(tape.below(4)))
			}
		} else {
			urgent := tape.below(4) == 0
			before := len(p.takes)
			n := tape.part(p.s.limit(), urgent)
			p.take(p.moment(tape), n, urgent)
			if len(p.takes) > before {
				j = append(j, sent{p.s.seen, n})
			}
		}
		p.compare()
		if plain {
			p.fewer(j)
		}
	}
	if kind == Rolling && plain {
		require.LessOrEqual(t, j.mostInSpan(w.span+w.skew), w.tokens)
	}
}

// fewer asserts that no more are missing than the rounding explains.
func (p *windowPair) fewer(j journal) {
	l := p.s.limit()
	if p.w.kind != Rolling {
		if p.w.skew == 0 && p.s.left(true) < p.w.tokens-p.m.Used(p.s.seen).Num().Int64() {
			require.LessOrEqual(p, p.s.wait(p.w.tokens, true), int64(1)<<l.window.quant)
		}
		return
	}
	group := int64(1) << l.roll.group
	in := int64(0)
	for _, e := range j {
		if e.at+clock.Time(p.w.span+p.w.skew+group) > p.s.seen {
			in += e.n
		}
	}
	require.GreaterOrEqual(p, p.s.left(true), p.w.tokens-in-(group-1))
	require.Less(p, (group-1)*512, p.w.tokens)
}

// At whole quanta nothing is rounded: the model's decisions, whatever the count.
func TestLargeWindowsAreExactAtQuanta(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for _, kind := range []Kind{Aligned, FromFirst} {
		for range 500 {
			const quantum = 1 << 20
			w := windowed{kind: kind, tokens: 1 + rng.Int64N(MaxCount), span: quantum * (1000 + rng.Int64N(2000))}
			p := newWindowPair(t, w, rng.Uint64(), clock.Time(rng.Int64N(1<<40)*quantum), quantum*rng.Int64N(1<<30))
			p.loose = false
			for range 30 {
				p.exactly(rng, w, quantum)
			}
			p.explain()
		}
	}
}

func (p *windowPair) exactly(rng *rand.Rand, w windowed, quantum int64) {
	d := []int64{0, quantum, p.retry, p.retry - quantum, rng.Int64N(w.span/quantum) * quantum, w.span}[rng.IntN(6)]
	p.take(p.now+clock.Time(max(d, 0)), rng.Int64N(w.tokens)+1, false)
	p.compare()
}

// The most tokens that there may be, one call after another.
func TestLargestCount(t *testing.T) {
	for _, kind := range windowKinds {
		s := newAnySlot(windowed{kind: kind, tokens: MaxCount, span: minute}.limit(t), 3, 12345)
		require.True(t, s.take(MaxCount-1, false))
		require.Equal(t, int64(1), s.left(false))
		require.True(t, s.take(1, false))
		require.False(t, s.take(1, false))
		s.charge(1 << 62)
		require.Zero(t, s.left(false))
		require.False(t, s.take(1, false))
		wait := s.wait(MaxCount, false)
		require.LessOrEqual(t, wait, minute+1<<20)
		s.touch(12345 + clock.Time(wait))
		require.True(t, s.take(MaxCount, false))
		s.credit(1 << 62)
		require.Equal(t, int64(MaxCount), s.left(false))
	}
}
