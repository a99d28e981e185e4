package bucket

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

var allKinds = []Kind{TokenBucket, Aligned, FromFirst, Rolling}

// A change of the kind, of the tokens, of the span: what is used stays used, and
// what it is counted by from then on is the model's.
func TestEveryKindBecomesEveryKind(t *testing.T) {
	for _, from := range allKinds {
		for _, to := range allKinds {
			t.Run(kindNames[from]+" "+kindNames[to], func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(from), uint64(to)))
				for range 300 {
					b := make([]byte, 200)
					for i := range b {
						b[i] = byte(rng.Uint32())
					}
					convertAtRandom(t, from, to, &tape{b})
				}
			})
		}
	}
}

func convertAtRandom(t *testing.T, from, to Kind, tape *tape) {
	w := tape.windowed(from).plain()
	p := newWindowPair(t, w, tape.uint(2), clock.Time(int64(tape.uint(6))), int64(tape.uint(5)))
	defer p.explain()
	for range 6 {
		p.takeLoosely(tape)
	}
	next := tape.windowed(to).plain()
	if from == to && tape.below(2) == 0 {
		next.span = w.span
	}
	if from == to && next.span == w.span {
		next.skew = w.skew // see TestAlignedSkewChanges, TestFromFirstSkewChanges
	}
	if from == to && (from == TokenBucket || from == Rolling && next.span != w.span) {
		return // see TestConvertKeepsWhatIsUsed; TestRollingKeepsItsDates
	}
	p.becomes(next, tape.below(2) == 0)
	for range 10 {
		p.takeLoosely(tape)
	}
}

// plain leaves w without what is tested elsewhere: rates that are rounded, and words
// that are.
func (w windowed) plain() windowed {
	w.tokens = min(w.tokens, 100)
	w.reserve = min(w.reserve, w.tokens-1)
	if w.kind == TokenBucket {
		w.span, w.skew, w.reserve = w.tokens*ms, 0, 0
	}
	return w
}

// becomes puts a limit into force. late: the key is asked before the change comes
// to it.
func (p *windowPair) becomes(next windowed, late bool) {
	next.wall = p.wall
	l := next.limit(p)
	p.note("becomes %+v", next)
	before, used := p.s.spent(), p.m.Used(p.s.seen)
	prev := *p.s.limit()
	p.s.publish(l, p.now)
	if late && !l.Converts(&prev) {
		require.Equal(p, before, p.s.spent(), "the limit of before decides until then")
	}
	p.s.arrive()
	p.m.ApplyLimit(p.now, next.model(&l))
	p.w, p.takes, p.log = next, nil, nil
	require.Equal(p, p.s.limit().Parity(), Parity(p.s.word.Load()))
	require.GreaterOrEqual(p, p.s.spent(), min(ceilRat(used), holds(&l)))
	require.LessOrEqual(p, p.s.spent(), ceilRat(used))
	// What does not fit is lost; see TestLoweredAndRaisedAgain.
	p.loose = p.loose || ceilRat(used) > holds(&l)
}

// holds is the most tokens that a word or a ring of l can tell of.
func holds(l *Limit) int64 {
	switch l.kind {
	case TokenBucket:
		return 1 << 62
	case Rolling:
		return l.most
	}
	return 1<<l.window.count - 1
}

func ceilRat(r *big.Rat) int64 {
	q, m := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	return q.Int64() + int64(m.Sign())
}

// takeLoosely takes on both, where the two must agree.
func (p *windowPair) takeLoosely(tape *tape) {
	l := p.s.limit()
	n := min(tape.weight(l, true), l.Most(true))
	p.now = max(p.now, p.s.seen) + clock.Time(int64(tape.uint(1))*(p.w.span/100)*int64(tape.below(2)))
	p.s.touch(p.now)
	d := p.m.Peek(p.now)
	p.note("take of %d at %d: spent %d", n, p.now, p.s.spent())
	if !p.loose {
		shut := p.w.kind == FromFirst && p.w.skew > 0
		require.True(p, p.s.left(false) == d.Remaining || shut && p.s.left(false) == 0, "left %d, %d", p.s.left(false), d.Remaining)
	} else {
		require.LessOrEqual(p, p.s.left(false), d.Remaining)
	}
	ok := p.s.take(n, true)
	if !ok && p.loose {
		return
	}
	require.Equal(p, p.m.TakeUrgentAt(p.now, n).Allowed || n == 0, ok || n == 0)
}

// From one rolling limit to another, tokens that count keep their dates: with them,
// never more than the new tokens in any new span.
func TestRollingKeepsItsDates(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 37))
	for range 2000 {
		w := windowed{kind: Rolling, tokens: 1 + rng.Int64N(40), span: 100 + rng.Int64N(400)}
		if rng.IntN(4) == 0 {
			w.tokens, w.span = w.tokens*1000, w.span*second
		}
		step := w.span / 20
		s := newAnySlot(w.limit(t), rng.Uint64(), 0)
		var j journal
		play := func(n int) {
			for range n {
				s.touch(s.seen + clock.Time(rng.Int64N(step)))
				if n := 1 + rng.Int64N(w.tokens); s.take(n, false) {
					j = append(j, sent{s.seen, n})
				}
			}
		}
		play(rng.IntN(40))
		changed, spent, before := s.seen, s.spent(), w
		w.tokens = max(1, w.tokens*(1+rng.Int64N(8))/4)
		w.span = max(w.span*(1+rng.Int64N(8))/4, 100)
		s.apply(w.limit(t), s.seen)
		label := fmt.Sprintf("%+v to %+v at %d", before, w, changed)
		if w.span == before.span {
			require.GreaterOrEqual(t, s.spent(), min(spent, w.tokens), label)
		}
		j = slices.DeleteFunc(j, func(e sent) bool { return e.at+clock.Time(before.span) <= changed })
		n := len(j)
		play(40)
		// Spans that end with a take after the change.
		for k := n; k < len(j); k++ {
			in := int64(0)
			for _, e := range j[:k+1] {
				if e.at+clock.Time(w.span) > j[k].at {
					in += e.n
				}
			}
			require.LessOrEqual(t, in, w.tokens, label)
		}
	}
}

// A limit that is lowered and raised again: what was used in the window stays used.
func TestLoweredAndRaisedAgain(t *testing.T) {
	for _, kind := range allKinds {
		w := windowed{kind: kind, tokens: 100, span: hour}
		s := newAnySlot(w.limit(t), 9, 0)
		require.True(t, s.take(80, false))
		w.tokens, w.span = 3, hour
		l := w.limit(t)
		if kind == TokenBucket {
			l = rate{tokens: 100, per: hour, capacity: 3}.limit(t)
		}
		s.apply(l, 1)
		require.Zero(t, s.left(false))
		w.tokens = 100
		s.apply(w.limit(t), 2)
		require.LessOrEqual(t, s.left(false), int64(20), kindNames[kind])
	}
}

// A change of every kind with a debt, at a time of another era.
func TestConvertInAnotherEra(t *testing.T) {
	for _, from := range allKinds {
		for _, to := range allKinds {
			for _, years := range []int64{0, 1, 40} {
				s := newAnySlot(windowed{kind: from, tokens: 10, span: second}.limit(t), 9, -5)
				s.charge(15)
				s.apply(windowed{kind: to, tokens: 12, span: second}.limit(t), clock.Time(years*year)+clock.Time(100*second))
				require.Zero(t, s.spent(), "%s to %s", kindNames[from], kindNames[to])
				require.True(t, s.take(12, false))
				require.False(t, s.take(1, false))
			}
		}
	}
}
