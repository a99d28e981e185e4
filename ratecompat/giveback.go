package ratecompat

import (
	"math/bits"
	"time"
)

// giveBack gives back what c took, as far as time has not refilled it since, as
// of the time t. The caller holds mu. It does so once for a claim.
//
// The claim occupies [mark−x, mark) of the axis, x being its price. What of that
// lies behind now has been refilled already, and others may have used it: giving
// it back too would admit more than the limit. Reservations and waiters beyond it
// move down by what is given. That takes a generation of its own, so that a mark's
// generation tells whether it has moved; where nobody is beyond, none is needed.
//
// No take that is in the word is later than the time by which it is reckoned: seen
// is read after the word, and the swap fails if another take came in.
func (l *Limiter) giveBack(c *claim, t time.Time) {
	g := l.terms.Load() // under mu, so the word is theirs
	n := c.n
	c.n = 0
	if n == 0 || g.inf || !l.steps.bring(c, g.gen) {
		return
	}
	hi, x := bits.Mul64(uint64(n), uint64(g.cost))
	if hi != 0 || x > maxOwed {
		return // after a change to a rate under which a word cannot hold it
	}
	var next *terms
	for {
		w := l.word.Load()
		at, _ := l.when(g, t, false)
		if !l.near(at) {
			continue
		}
		at = g.now(at)
		base := g.reach(c, at) - x
		gone := uint64(max(0, int64(g.full(at)-base)))
		units := x - min(gone, x)
		if units == 0 && next == nil {
			return
		}
		lower := g.bucket.Lower(w, g.origin, at, units)
		if w == c.mark && l.queue.last(c) {
			if l.word.CompareAndSwap(w, lower) {
				return
			}
			continue
		}
		if next == nil {
			next = g.again()
			l.terms.Store(next)
		}
		if l.word.CompareAndSwap(w, next.rename(lower)) {
			l.record(step{gen: next.gen, base: base, units: w - lower, turn: next.turn()})
			return
		}
	}
}

// record notes a step, and takes all waiters along.
func (l *Limiter) record(s step) {
	l.steps.add(s)
	for w := l.queue.head; w != nil; w = w.next {
		s.apply(&w.claim)
	}
}
