package bucket

import "github.com/tickgate/tickgate/clock"

// whole returns the ring's base for the word as it is now, complete, and that
// word. It gives up, and reports false, where the ring is another key's.
func (l *Limit) ring(c *Cell, now clock.Time) (taken, base, bool) {
	for {
		w := c.Word.Load()
		t := l.roll.read(w, c.Origin, now)
		if b, ok := l.complete(w, t, c); ok {
			return t, b, true
		}
		if c.holds(w) {
			return t, 0, false
		}
	}
}

// span returns the groups of the ring that hold tokens of the span that ends at
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
	e, ok := l.pushed(c, b, n)
	return !ok || l.roll.over(e, now)
}

// pushed returns the youngest entry that n more tokens push out of the ring.
func (l *Limit) pushed(c *Cell, b base, n int64) (entry, bool) {
	r := &l.roll
	last := (b.tokens() + uint64(max(n, 1)) - 1) >> r.group
	if last <= r.mask {
		return 0, false
	}
	return c.Ring.at(r, last-r.mask-1), true
}

// leftRolling returns the tokens left at now.
func (l *Limit) leftRolling(c *Cell, now clock.Time, capacity int64) int64 {
	_, b, ok := l.ring(c, now)
	if !ok {
		return 0
	}
	return max(0, capacity-l.live(c, b, now))
}

// waitRolling returns how long until n tokens fit, if nobody else takes.
func (l *Limit) waitRolling(c *Cell, now clock.Time, n, capacity int64) int64 {
	r := &l.roll
	_, b, ok := l.ring(c, now)
	if !ok {
		return 0
	}
	over := func(e entry) int64 { return int64(max(0, e.time(r)+clock.Time(r.span)-now)) }
	if b.voids() == 0 {
		last := int64(b.tokens()) + n - capacity - 1
		if last < 0 {
			return 0
		}
		return over(c.Ring.at(r, uint64(last)>>r.group))
	}
	wait := int64(0)
	if e, ok := l.pushed(c, b, n); ok {
		wait = over(e)
	}
	from, to := l.inSpan(c, b, now)
	for live := l.live(c, b, now); live+n > capacity && from < to; from++ {
		e := c.Ring.at(r, from)
		live -= l.in(e, from, b)
		wait = max(wait, over(e))
	}
	return wait
}

// chargeRolling counts n tokens at now whatever is left. More than the capacity
// says no more than the capacity does.
func (l *Limit) chargeRolling(w uint64, c *Cell, now clock.Time, n int64) (uint64, Outcome) {
	r := &l.roll
	t := r.read(w, c.Origin, now)
	b, ok := l.complete(w, t, c)
	if !ok {
		return 0, Stale
	}
	n = min(n, l.most)
	if n > 0 && !l.hasRoom(c, b, now, n) {
		n = l.most // what is pushed out counted: then these must
	}
	return r.word(taken{at: max(t.at, r.quanta(now)), n: t.n + uint64(n)}, c.Origin, l.parity), Fits
}

// creditRolling gives n tokens back, those that would be out of the span first.
// Gifts to a key come one at a time.
func (l *Limit) creditRolling(c *Cell, now clock.Time, n int64) {
	_, b, ok := l.ring(c, now)
	if !ok {
		return
	}
	for g, to := l.inSpan(c, b, now); g < to && n > 0; g++ {
		n -= l.void(c, b, g, n)
	}
}

// giveRolling gives n tokens back that a take at the time at counted. Tokens of one
// time are alike; where others came first at a later time, because their caller was
// a little late, theirs are taken, which gives less. Gifts to a key come one at a
// time.
func (l *Limit) giveRolling(c *Cell, at, now clock.Time, n int64) {
	r := &l.roll
	_, b, ok := l.ring(c, now)
	if !ok || now-at >= clock.Time(r.span) {
		return // time gave them back
	}
	// Those not before at: they are in every span that ends before at + span.
	for g, to := l.inSpan(c, b, at+clock.Time(r.span)-1); g < to && n > 0; g++ {
		n -= l.void(c, b, g, n)
	}
}

// void marks up to n tokens of a group as given back, and returns how many. The
// entry is marked before the base tells of it: in between they count.
func (l *Limit) void(c *Cell, b base, group uint64, n int64) int64 {
	r := &l.roll
	cell := c.Ring.word(1 + group&r.mask)
	for {
		e := entry(cell.Load())
		m := min(n, l.in(e, group, b))
		if m <= 0 {
			return 0
		}
		if !base(c.Ring.word(0).Load()).owned(c) {
			return 0
		}
		if cell.CompareAndSwap(uint64(e), uint64(r.entry(e.quanta(r), e.voids(r)+m))) {
			l.tell(c, group)
			return m
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
	n = min(n, l.most)
	for g := uint64(0); g<<r.group < uint64(n); g++ {
		c.Ring.word(1 + g&r.mask).Store(uint64(r.entry(r.quanta(at), 0)))
	}
	c.Ring.word(0).Store(uint64(newBase(c.Owner&(1<<16-1), uint64(n), 0)))
	if n == 0 {
		return l.fullRolling(c.Origin, at, 0)
	}
	return r.word(taken{at: r.quanta(at), n: uint64(n)}, c.Origin, l.parity)
}

// copyRolling makes the ring of to one that holds what prev's holds at the time
// at, and returns the word for it. Which tokens were given back is not kept: those
// that count are dated as they were, the youngest last.
func (l *Limit) copyRolling(prev *Limit, from, to *Cell, at clock.Time) uint64 {
	t, b, ok := prev.ring(from, at)
	if !ok {
		return l.fillRolling(to, at, l.most)
	}
	r := &l.roll
	n, last := int64(0), int64(0)
	for g, end := prev.inSpan(from, b, at-clock.Time(max(0, r.span-prev.roll.span))); g < end; g++ {
		e := from.Ring.at(&prev.roll, g)
		last = r.quanta(e.time(&prev.roll))
		for range prev.in(e, g, b) {
			to.Ring.word(1 + uint64(n)>>r.group&r.mask).Store(uint64(r.entry(last, 0)))
			n++
		}
	}
	to.Ring.word(0).Store(uint64(newBase(to.Owner&(1<<16-1), uint64(n), 0)))
	return r.word(taken{at: max(last, r.quanta(clock.Time(t.at<<prev.roll.group))), n: uint64(n)}, from.Origin, l.parity)
}
