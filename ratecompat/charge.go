package ratecompat

import (
	"math"
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// verdict is what became of a charge.
type verdict uint8

const (
	passed   verdict = iota
	short            // not within the time that the caller would wait
	tooMany          // n is more than the limiter can ever have at once
	negative         // n is below 0
	tooDeep          // more is owed than a word can hold
)

// claim is what was taken, as whoever took it remembers it.
type claim struct {
	mark uint64     // the word after it
	gen  uint64     // whose word that is
	n    int64      // tokens; 0: nothing to give back
	at   clock.Time // a time at which mark is known to be in reach
}

// maxOwed is what a word may be ahead of now, in position units. Charges beyond
// what package bucket can hold would be lost.
const maxOwed = 1<<62 - 1<<33

// read returns the word and the terms that it was written under, nil for the zero
// Limiter. As the terms in force are the same before and after the word is loaded,
// it can be theirs or, while a change is under way, of the generation before.
func (l *Limiter) read() (*terms, uint64) {
	for {
		g := l.terms.Load()
		if g == nil {
			return nil, 0
		}
		w := l.word.Load()
		if l.terms.Load() != g {
			continue
		}
		if bucket.Parity(w) != g.bucket.Parity() {
			g = g.prev
		}
		return g, w
	}
}

// charge takes n tokens at the time t if they are there within maxWait, and
// returns what is to be remembered and how long after t that is.
//
// The swap of the word is where it happens. Whoever loses the swap begins again,
// and somebody else has taken, changed or cancelled.
func (l *Limiter) charge(t time.Time, n int64, maxWait time.Duration) (c claim, wait time.Duration, v verdict) {
	for {
		g, w := l.read()
		switch {
		case g == nil:
			if n == 0 {
				return claim{}, 0, passed
			}
			return claim{}, 0, tooMany
		case g.inf:
			return claim{}, 0, passed
		case n < 0:
			return claim{}, 0, negative
		case n > g.most:
			return claim{}, 0, tooMany
		case !g.based:
			l.based(t)
			continue
		}
		at, late := l.when(g, t, false)
		if !l.near(at) {
			continue
		}
		now := g.now(at)
		next, ok := g.bucket.Take(w, g.origin, now, n)
		if !ok {
			if l.word.Load() != w {
				continue // it may have been re-based since, and be out of reach of now
			}
			if maxWait == 0 {
				return claim{}, 0, short
			}
			if wait = later(g.wait(w, now, n), late); wait > maxWait {
				return claim{}, wait, short
			}
			if g.used(w, now)+n*g.cost > maxOwed {
				return claim{}, wait, tooDeep
			}
			next = g.bucket.Charge(w, g.origin, now, n)
		}
		if n == 0 {
			return claim{mark: w, gen: g.gen, at: now}, wait, passed
		}
		l.move(at)
		if l.word.CompareAndSwap(w, next) {
			return claim{mark: next, gen: g.gen, n: n, at: now}, wait, passed
		}
		wait = 0
	}
}

// wait returns how long after now the bucket has n tokens more than w, if nobody
// else takes.
func (t *terms) wait(w uint64, now clock.Time, n int64) time.Duration {
	ns := t.bucket.Retry(w, t.origin, now, n)
	if t.still && ns > 0 {
		return InfDuration
	}
	return time.Duration(ns)
}

// later is a wait as a caller sees it who is late by so much. A wait of nothing
// stays nothing.
func later(wait, late time.Duration) time.Duration {
	if wait == 0 || wait > math.MaxInt64-late {
		return wait
	}
	return wait + late
}
