package bucket

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
)

// pair is a bucket and the exact model of it, side by side.
type pair struct {
	testing.TB
	s     *slot
	m     *refmodel.Bucket
	now   clock.Time
	retry int64 // what the last denied take was told

	// What the bucket may count as used more than the model, in tokens: every
	// change of a rate rounds up. While it is zero the two must agree exactly.
	more *big.Rat
}

// modelLimit is l as the model has it: with the rate in force, and losing what
// does not fit into a word.
func modelLimit(l *Limit) refmodel.Limit {
	tokens, per := l.Rate()
	return refmodel.Limit{
		Tokens: tokens, Per: per, Capacity: l.Capacity(),
		Most: big.NewRat(maxAhead, l.cost),
	}
}

// runPair plays a tape on both.
func runPair(t testing.TB, tape *tape) {
	l := tape.limit()
	start := clock.Time(int64(tape.uint(8)) >> 1)
	p := &pair{
		TB:   t,
		s:    newSlot(l, OriginOf(tape.uint(2)), start),
		m:    refmodel.NewBucket(modelLimit(&l)).SetBack(),
		now:  start,
		more: new(big.Rat),
	}
	p.m.Peek(start)
	for !tape.done() {
		op := tape.below(16)
		p.now = tape.time(p.s.limit(), p.now, p.retry)
		switch op {
		default:
			p.take(tape.amount(p.s.limit()))
		case 11:
			p.take(0)
		case 12:
			n := tape.anyAmount(p.s.limit())
			at, _ := p.s.touch(p.now)
			p.s.w = p.s.limit().Charge(p.s.w, p.s.o, at, n)
			p.m.Charge(p.now, n)
		case 13:
			n := tape.anyAmount(p.s.limit())
			at, _ := p.s.touch(p.now)
			p.s.w, _ = p.s.limit().Credit(p.s.w, p.s.o, at, n)
			p.m.Credit(p.now, n)
		case 14: // the capacity only
			q, c := p.s.limit().Rate()
			if l, err := New(q, c, 1+int64(tape.uint(2))); err == nil {
				p.apply(l)
			}
		case 15:
			p.apply(tape.limit())
		}
		p.compare()
	}
}

func (p *pair) take(n int64) {
	at, late := p.s.touch(p.now)
	l := p.s.limit()
	if !l.Fits(n) {
		d := p.m.TakeAt(p.now, n)
		require.True(p, d.TooCostly && !d.Allowed && d.RetryAfter == refmodel.Never)
		return
	}
	next, ok := l.Take(p.s.w, p.s.o, at, n)
	if !ok && p.more.Sign() > 0 {
		// The model may have it, but only by what was rounded.
		need := new(big.Rat).Add(p.m.Used(at), big.NewRat(n, 1))
		need.Add(need, p.more)
		require.Positive(p, need.Cmp(big.NewRat(l.Capacity(), 1)))
		p.m.Peek(p.now)
		p.retry = l.Retry(p.s.w, p.s.o, at, n)
		return
	}
	d := p.m.TakeAt(p.now, n)
	require.Equal(p, d.Allowed, ok, "take of %d: %+v", n, d)
	require.Equal(p, d.At, at)
	if ok && n > 0 {
		p.s.w = next
	}
	if p.more.Sign() > 0 {
		return
	}
	require.Equal(p, d.Remaining, l.Remaining(p.s.w, p.s.o, at))
	p.retry = 0
	if ok {
		require.Zero(p, d.RetryAfter)
		if n > 0 {
			require.Zero(p, l.Retry(p.s.w, p.s.o, at, 0))
		}
		return
	}
	retry := l.Retry(p.s.w, p.s.o, at, n)
	require.Equal(p, d.RetryAfter, time.Duration(retry+late))
	require.Equal(p, d.ResetAfter, time.Duration(l.Used(p.s.w, p.s.o, at)+late))
	p.retry = retry + late
}

func (p *pair) apply(l Limit) {
	before := *p.s.limit()
	p.s.apply(l, p.now)
	p.m.ApplyLimit(p.now, modelLimit(&l))
	if l.unit != before.unit || l.cost != before.cost {
		p.more.Add(p.more, big.NewRat(2, l.cost))
	}
}

// compare asserts that both count the same as used, but for what was rounded.
func (p *pair) compare() {
	l := p.s.limit()
	ours, exact := usedTokens(l, p.s.w, p.s.o, p.s.seen), p.m.Used(p.s.seen)
	diff := new(big.Rat).Sub(ours, exact)
	require.GreaterOrEqual(p, diff.Sign(), 0, "less is used: %v, exactly %v", ours, exact)
	require.LessOrEqual(p, diff.Cmp(p.more), 0, "more is used: %v, exactly %v, rounded %v", ours, exact, p.more)
	require.Equal(p, l.IsFull(p.s.w, p.s.o, p.s.seen), ours.Sign() == 0)
	if ours.Sign() == 0 {
		p.more.SetInt64(0)
	}
}

// Random histories, with stale, equal and huge times, changes of the rate, debt
// and credit: the same decisions as the model's, to the nanosecond.
func TestAgreesWithModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	histories := 1500
	if testing.Short() {
		histories = 300
	}
	for range histories {
		b := make([]byte, rng.IntN(600))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		if len(b) > 0 && rng.IntN(2) == 0 {
			b[0] = byte(rng.IntN(len(rates)))
		}
		runPair(t, &tape{b})
		if t.Failed() {
			return
		}
	}
}
