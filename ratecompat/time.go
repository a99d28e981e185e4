package ratecompat

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

const (
	// horizon bounds times on both sides of the base, ns: 73 years. Beyond it time
	// stands, and nothing overflows.
	horizon = clock.Time(1) << 61

	// stride is the longest step of seen without looking at the word, ns: 104 days.
	// The word is behind seen by a few strides at most, while one that is less than
	// 2^62 position units away is read rightly: 2^53 ns are at most 126 · 2^53 < 2^60.
	stride = clock.Time(1) << 53

	// stepBack is how far behind the latest time a caller must be to be taken for
	// one whose clock was set back rather than for one that is late.
	stepBack = clock.Time(10 * time.Second)
)

// based returns the terms in force with a base, which is t if it had none.
func (l *Limiter) based(t time.Time) *terms {
	for {
		g := l.terms.Load()
		if g != nil && g.based {
			return g
		}
		b := makeTerms(0, 0, nil)
		if g != nil {
			*b = *g
		}
		b.based, b.base, b.start = true, t, time.Now()
		if l.terms.CompareAndSwap(g, b) {
			return b
		}
	}
}

// axis returns t as the time since the base.
func (t *terms) axis(at time.Time) clock.Time {
	return min(max(clock.Time(at.Sub(t.base)), -horizon), horizon)
}

// when returns the time at which to serve a caller who says it is t, and by how
// much that is later than the caller's own.
//
// A time later than seen counts as it is, and becomes seen when something is
// taken. An earlier one counts as seen: what is left is there for it, and its
// lateness mints nothing. Were that all, one time far in the future would stop
// the limiter until then. So for callers who are 10 s or more behind it is the
// machine's own clock that moves on from seen. What is admitted is thus bounded by
// the time that callers' times span and the time that really passed.
//
// look is for those who only look: nothing is written.
func (l *Limiter) when(g *terms, t time.Time, look bool) (at clock.Time, late time.Duration) {
	own := g.axis(t)
	seen := clock.Time(l.seen.Load())
	behind := seen - own
	switch {
	case behind <= 0:
		return own, 0
	case behind < stepBack:
		return seen, time.Duration(behind)
	}
	elapsed := clock.Time(time.Since(g.start))
	shift := clock.Time(l.shift.Load())
	switch moved := elapsed + shift; {
	case shift == 0 || moved < seen-stepBack:
		if !look {
			l.shift.Store(int64(seen - elapsed))
		}
	case moved > seen:
		return min(moved, 2*horizon), 0
	}
	return seen, 0
}

// near reports whether at is within a stride of seen. If not it goes there, one
// stride at a time, and what was read of the word before is to be read again.
func (l *Limiter) near(at clock.Time) bool {
	seen := clock.Time(l.seen.Load())
	if at-seen <= stride {
		return true
	}
	l.leap(seen)
	return false
}

// move makes seen no earlier than at, before something is taken at that time.
func (l *Limiter) move(at clock.Time) {
	for {
		seen := l.seen.Load()
		if seen >= int64(at) || l.seen.CompareAndSwap(seen, int64(at)) {
			return
		}
	}
}

// leap moves seen on by a stride, for a caller who is further ahead of it than
// that. A bucket that has become full meanwhile is written down as full at the new
// time, so that its word stays near. It does nothing if seen or the word changed
// in the meantime.
func (l *Limiter) leap(seen clock.Time) {
	g, w := l.read()
	if l.seen.Load() != int64(seen) {
		return // else a word charged at a later time might be taken for an old one
	}
	to := seen + stride
	if !g.still {
		if next := g.bucket.Rebase(w, g.origin, seen, to); next != w && !l.word.CompareAndSwap(w, next) {
			return
		}
	}
	l.seen.CompareAndSwap(int64(seen), int64(to))
}
