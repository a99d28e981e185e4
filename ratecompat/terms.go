package ratecompat

import (
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// terms are one generation of what a limiter goes by. They are immutable once
// published.
type terms struct {
	limit Limit // as it was set
	burst int   // as it was set

	inf   bool // everything passes; still as well
	still bool // nothing refills: time stands at since

	bucket bucket.Limit
	origin bucket.Origin // no two generations have the same
	gen    uint64
	most   int64  // the largest n that is served; 0 or less: none
	room   int64  // the capacity in position units
	cost   int64  // position units a token
	unit   uint64 // position units a nanosecond

	since clock.Time // when limit and burst came into force
	based bool       // whether base is set
	base  time.Time  // clock.Time 0: the first time the limiter was called with
	start time.Time  // the machine's time then
	prev  *terms     // the generation before; its own prev is nil
}

// makeTerms compiles a generation to come after before, nil for the first. A burst
// of 0 or less is a bucket for one token that serves nobody: see [terms.convert].
func makeTerms(limit Limit, burst int, before *bucket.Limit) *terms {
	t := &terms{limit: limit, burst: burst, inf: limit >= Inf}
	t.bucket, t.still = compile(limit, max(int64(burst), 1), before)
	t.most = min(int64(burst), t.bucket.Capacity())
	q, c := t.bucket.Rate()
	t.unit, t.cost = uint64(2*q), 2*c
	t.room = t.bucket.Capacity() * t.cost
	return t
}

// next returns the generation after t with another limit or burst, from at on.
func (t *terms) next(limit Limit, burst int, at clock.Time) *terms {
	n := makeTerms(limit, burst, &t.bucket)
	n.since, n.based, n.base, n.start = at, t.based, t.base, t.start
	n.follow(t)
	return n
}

// again returns the generation after t with the same limit and burst.
func (t *terms) again() *terms {
	n := *t
	n.follow(t)
	return &n
}

func (t *terms) follow(prev *terms) {
	p := *prev
	p.prev = nil // a chain of generations would never be freed
	t.prev = &p
	t.gen = p.gen + 1
	t.origin = bucket.OriginOf(t.gen)
	t.bucket = t.bucket.WithParity(p.bucket.Parity() ^ 1)
}

// now is the time by which the bucket is read when it is at.
func (t *terms) now(at clock.Time) clock.Time {
	if t.still {
		return t.since
	}
	return at
}

// full is the word of a bucket that is full at a time.
func (t *terms) full(at clock.Time) uint64 { return t.bucket.Full(t.origin, at) }

// used is what w lacks to be full at a time, in position units.
func (t *terms) used(w uint64, at clock.Time) int64 {
	return max(0, int64(w-t.full(at)))
}

// turn is what to add to a word of the generation before, and then to flip its
// parity, to have the same level in t, if the limit is the same.
func (t *terms) turn() uint64 { return uint64(t.origin - t.prev.origin) }

// rename returns the word of t for a word of the generation before it that is
// already in t's units.
func (t *terms) rename(w uint64) uint64 {
	return (w&^1 + t.turn()) | t.bucket.Parity()
}

// convert returns the word of t for w, a word of the generation before it. What
// is left stays, up to the new burst; a debt stays a debt. Rounding takes less
// than one position unit.
func (t *terms) convert(w uint64) uint64 {
	p, at := t.prev, t.since
	switch {
	case p.inf && at > p.since:
		w = p.full(at) // without a limit any time at all refills everything
	case p.still:
		w += uint64(at-p.since) * p.unit // its time did not move, and goes on from here
	}
	if p.most <= 0 {
		// The one token that is in the bucket only so that it can exist was never there.
		if gone := p.bucket.Charge(p.full(at), p.origin, at, 1); int64(w-gone) < 0 {
			w = gone
		}
	}
	w = t.bucket.Convert(&p.bucket, w, p.origin, at)
	// So far what was used stays used. What is left is to stay left.
	switch more := t.bucket.Capacity() - p.bucket.Capacity(); {
	case more > 0:
		w = t.bucket.Charge(w, p.origin, at, more)
	case more < 0:
		w, _ = t.bucket.Credit(w, p.origin, at, -more)
	}
	return t.rename(w)
}
