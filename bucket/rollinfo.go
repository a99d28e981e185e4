package bucket

import (
	"math"

	"github.com/tickgate/tickgate/clock"
)

// ring returns the ring's base for a word, complete where the word is still the
// cell's. Where it is not, others have taken since, and the base tells of some of
// that: enough for what only explains, or is looked at again.
func (l *Limit) ring(w uint64, c *Cell, now clock.Time) base {
	b, ok := l.complete(l.roll.read(w, c.Origin, now), c)
	if !ok {
		b = base(c.Ring.word(0).Load())
	}
	return b
}

// inSpan returns the groups of the ring that hold tokens of the span that ends at
// now: from the first to before the last. They are in the order of their times.
func (l *Limit) inSpan(c *Cell, b base, now clock.Time) (from, to uint64) {
	r := &l.roll
	s := b.tokens()
	to = (s + 1<<r.group - 1) >> r.group
	lo := to - min(to, r.mask+1)
	for hi := to; lo < hi; {
		mid := (lo + hi) / 2
		if r.over(c.Ring.at(r, mid), now) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, to
}

// in returns how many tokens of a group count.
func (l *Limit) in(e entry, group uint64, b base) int64 {
	r := &l.roll
	n := min(b.tokens()-group<<r.group, 1<<r.group)
	return max(0, int64(n)-e.voids(r))
}

// live returns the tokens that count at now.
func (l *Limit) live(c *Cell, b base, now clock.Time) int64 {
	from, to := l.inSpan(c, b, now)
	if b.voids() == 0 {
		return int64(b.tokens() - min(b.tokens(), from<<l.roll.group))
	}
	n := int64(0)
	for g := from; g < to; g++ {
		n += l.in(c.Ring.at(&l.roll, g), g, b)
	}
	return n
}

// hasRoom reports whether n more tokens push no entry out of the ring that counts
// at now. Without voids that is so whenever they fit.
func (l *Limit) hasRoom(c *Cell, b base, now clock.Time, n int64) bool {
	return n <= l.ringRoom(c, b, now)
}

// ringRoom returns how many tokens may be written before an entry goes that counts at
// now: one within the span, of which not all was given back.
func (l *Limit) ringRoom(c *Cell, b base, now clock.Time) int64 {
	r := &l.roll
	from, to := l.inSpan(c, b, now)
	for from < to && l.in(c.Ring.at(r, from), from, b) == 0 {
		from++
	}
	return int64((from+r.mask+1)<<r.group - b.tokens())
}

// lost reports whether a caller who is a little late must reckon with tokens that
// were pushed out of the ring: they were out of the span for the last take, but need
// not be for it.
func (l *Limit) lost(c *Cell, b base, t taken, now clock.Time) bool {
	r := &l.roll
	to := (b.tokens() + 1<<r.group - 1) >> r.group
	return now < clock.Time(t.at<<r.group) && to > r.mask+1 && !r.over(c.Ring.at(r, to-r.mask-1), now)
}

// roomAfter returns how long until n tokens have room, ns.
func (l *Limit) roomAfter(c *Cell, b base, now clock.Time, n int64) int64 {
	r := &l.roll
	last := (b.tokens() + uint64(max(n, 1)) - 1) >> r.group
	if last <= r.mask || l.hasRoom(c, b, now, n) {
		return 0
	}
	return max(0, r.left(c.Ring.at(r, last-r.mask-1).time(r, now), now))
}

// leftRolling returns the tokens left at now.
func (l *Limit) leftRolling(w uint64, c *Cell, now clock.Time, capacity int64) int64 {
	b := l.ring(w, c, now)
	left := capacity - l.live(c, b, now)
	if b.voids() > 0 {
		if left = min(left, l.ringRoom(c, b, now)); l.lost(c, b, l.roll.read(w, c.Origin, now), now) {
			return 0
		}
	}
	return max(0, left)
}

// waitRolling returns how long until n tokens fit, if nobody else takes.
func (l *Limit) waitRolling(w uint64, c *Cell, now clock.Time, n, capacity int64) int64 {
	r := &l.roll
	b := l.ring(w, c, now)
	over := func(e entry) int64 { return max(0, r.left(e.time(r, now), now)) }
	if b.voids() == 0 {
		last := int64(b.tokens()) + n - capacity - 1
		if last < 0 {
			return 0
		}
		return over(c.Ring.at(r, uint64(last)>>r.group))
	}
	wait := l.roomAfter(c, b, now, n)
	if t := r.read(w, c.Origin, now); l.lost(c, b, t, now) {
		wait = max(wait, int64(clock.Time(t.at<<r.group)-now))
	}
	from, to := l.inSpan(c, b, now)
	for live := l.live(c, b, now); live+n > capacity && from < to; from++ {
		e := c.Ring.at(r, from)
		live -= l.in(e, from, b)
		wait = max(wait, over(e))
	}
	return wait
}

// resetRolling returns how long until no token counts.
func (l *Limit) resetRolling(w uint64, c *Cell, now clock.Time) int64 {
	r := &l.roll
	b := l.ring(w, c, now)
	if b.voids() == 0 {
		return l.busyRolling(w, c.Origin, now)
	}
	for from, to := l.inSpan(c, b, now); to > from; to-- {
		if e := c.Ring.at(r, to-1); l.in(e, to-1, b) > 0 {
			return r.left(e.time(r, now), now)
		}
	}
	return 0
}

// chargeRolling counts n tokens at now whatever is left. More than the capacity
// says no more than the capacity does.
func (l *Limit) chargeRolling(w uint64, c *Cell, now clock.Time, n int64) (uint64, Outcome) {
	r := &l.roll
	t := r.read(w, c.Origin, now)
	b, ok := l.complete(t, c)
	if !ok {
		return 0, Stale
	}
	n = min(n, l.most)
	if n > 0 && !l.hasRoom(c, b, now, n) {
		n = l.most // what is pushed out counted: then these must
	}
	return r.word(taken{at: max(t.at, r.quanta(now)), n: t.n + uint64(n)}, c.Origin), Fits
}

// creditRolling gives up to n tokens back, those that would be out of the span
// first, and returns how many it gave. It reports false where the word moved before
// it was done: the rest is to be tried again with the word as it is then. Gifts to a
// key come one at a time.
func (l *Limit) creditRolling(c *Cell, w uint64, now clock.Time, n int64) (given int64, ok bool) {
	b, ok := l.complete(l.roll.read(w, c.Origin, now), c)
	if !ok {
		return 0, false
	}
	given, ok = l.voidFrom(c, b, now, n)
	l.compact(c, b, now)
	return given, ok
}

// giveRolling gives up to n tokens back that a take at the time at counted, likewise.
// Tokens of one time are alike; where others came first at a later time, because
// their caller was a little late, theirs are taken, which gives less.
func (l *Limit) giveRolling(c *Cell, w uint64, at, now clock.Time, n int64) (given int64, ok bool) {
	r := &l.roll
	if now-at >= clock.Time(r.span) {
		return 0, true // time gave them back
	}
	b, ok := l.complete(r.read(w, c.Origin, now), c)
	if !ok {
		return 0, false
	}
	// Those not before at: they are in every span that ends before at + span.
	until := at + clock.Time(r.span) - 1
	if until < at {
		until = math.MaxInt64
	}
	given, ok = l.voidFrom(c, b, until, n)
	l.compact(c, b, now)
	return given, ok
}

// voidFrom gives up to n tokens back, from the first that is within the span that
// ends at now.
func (l *Limit) voidFrom(c *Cell, b base, now clock.Time, n int64) (given int64, ok bool) {
	for g, to := l.inSpan(c, b, now); g < to && given < n; g++ {
		m, ok := l.void(c, b, g, n-given)
		given += m
		if !ok {
			return given, false
		}
	}
	return given, true
}

// compact makes room in a ring that voids fill up behind tokens that count: such a
// token and a younger void change places, so that it counts for longer. Without, the
// key would be shut until it is out of the span.
func (l *Limit) compact(c *Cell, b base, now clock.Time) {
	r := &l.roll
	for range 2 * (r.mask + 1) {
		if l.ringRoom(c, b, now) >= l.most {
			return
		}
		old, to := l.inSpan(c, b, now)
		for old < to && l.in(c.Ring.at(r, old), old, b) == 0 {
			old++
		}
		young := old + 1
		for young < to && c.Ring.at(r, young).voids(r) == 0 {
			young++
		}
		// First one more counts, then one less.
		if young >= to || !l.unvoid(c, young) {
			return
		}
		if n, ok := l.void(c, b, old, 1); n == 0 || !ok {
			return
		}
	}
}

// unvoid makes a token of a group count again. It reports false if the word moved.
func (l *Limit) unvoid(c *Cell, group uint64) bool {
	cell := c.Ring.word(1 + group&l.roll.mask)
	for {
		e := entry(cell.Load())
		if !c.holds() || e.voids(&l.roll) == 0 {
			return false
		}
		if cell.CompareAndSwap(uint64(e), uint64(e.marked(-1))) {
			return true
		}
	}
}

// void marks up to n tokens of a group as given back, and returns how many. The
// entry is marked before the base tells of it: in between they count.
//
// It reports false if the word moved: then the entry may be of another lap of the
// ring, whose tokens are not the ones to give back. An entry that was loaded while
// the word was still the same is of this lap, and is another number in the next.
func (l *Limit) void(c *Cell, b base, group uint64, n int64) (int64, bool) {
	r := &l.roll
	cell := c.Ring.word(1 + group&r.mask)
	for {
		e := entry(cell.Load())
		if !c.holds() {
			return 0, false
		}
		m := min(n, l.in(e, group, b))
		if m <= 0 {
			return 0, true
		}
		if cell.CompareAndSwap(uint64(e), uint64(e.marked(m))) {
			l.tell(c, group)
			return m, true
		}
	}
}

// tell writes into the base that a group has voids.
func (l *Limit) tell(c *Cell, group uint64) {
	word := c.Ring.word(0)
	for {
		b := base(word.Load())
		ago := b.tokens()>>l.roll.group - group + 1
		if !b.owned(c) || ago > l.roll.mask+1 || b.voids() > 0 && b.voids() <= ago {
			return
		}
		if word.CompareAndSwap(uint64(b), uint64(newBase(c.Owner&(1<<16-1), b.tokens(), ago))) {
			return
		}
	}
}

// fillRolling makes the ring one in which n tokens were counted at the time at,
// and returns the word for it. The ring must be nobody's but the caller's.
func (l *Limit) fillRolling(c *Cell, at clock.Time, n int64) uint64 {
	r := &l.roll
	n = min(n, int64((r.mask+1)<<r.group))
	for g := uint64(0); g<<r.group < uint64(n); g++ {
		c.Ring.word(1 + g&r.mask).Store(uint64(r.entry(r.quanta(at), 0)))
	}
	c.Ring.word(0).Store(uint64(newBase(c.Owner&(1<<16-1), uint64(n), 0)))
	if n == 0 {
		return l.fullRolling(c.Origin, at, 0)
	}
	return r.word(taken{at: r.quanta(at), n: uint64(n)}, c.Origin)
}

// copyRolling makes the ring of to one that holds what prev's holds at the time
// at, and returns the word for it. Which tokens were given back is not kept: those
// that count are dated as they were, the youngest last.
func (l *Limit) copyRolling(prev *Limit, w uint64, from, to *Cell, at clock.Time) uint64 {
	t, b := prev.roll.read(w, from.Origin, at), prev.ring(w, from, at)
	r := &l.roll
	if prev.overflowed(from, b, at) {
		return l.fillRolling(to, at, max(l.most, prev.most))
	}
	n, last := int64(0), r.quanta(at-clock.Time(r.span))
	for g, end := prev.inSpan(from, b, at); g < end; g++ {
		e := from.Ring.at(&prev.roll, g)
		last = r.quanta(e.time(&prev.roll, at))
		m := prev.in(e, g, b)
		if m == 0 {
			continue
		}
		first, end := uint64(n)>>r.group, uint64(n+m-1)>>r.group
		for k := max(first, end-min(end, r.mask)); k <= end; k++ { // no more than the ring holds
			to.Ring.word(1 + k&r.mask).Store(uint64(r.entry(last, 0)))
		}
		n += m
	}
	to.Ring.word(0).Store(uint64(newBase(to.Owner&(1<<16-1), uint64(n), 0)))
	return r.word(taken{at: max(last, r.quanta(clock.Time(t.at<<prev.roll.group))), n: uint64(n)}, from.Origin)
}

// overflowed reports whether the ring is full of tokens that count: then there may
// have been more, before its limit was lowered.
func (l *Limit) overflowed(c *Cell, b base, now clock.Time) bool {
	from, to := l.inSpan(c, b, now)
	return to-from > l.roll.mask
}
