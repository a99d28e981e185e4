package bucket

import "github.com/tickgate/tickgate/clock"

// fullWindow is the word of a window that has counted nothing.
func (l *Limit) fullWindow(o Origin, now clock.Time) uint64 {
	return l.window.word(counted{end: l.window.quanta(now)}, o)
}

// leftWindow returns the tokens left at now.
func (l *Limit) leftWindow(w uint64, o Origin, now clock.Time, capacity int64) int64 {
	c := l.countedAt(w, o, now)
	if l.window.shut(c, now) {
		return 0
	}
	return max(0, capacity-c.used)
}

// waitWindow returns how long until n tokens fit, if nobody else takes.
func (l *Limit) waitWindow(w uint64, o Origin, now clock.Time, n, capacity int64) int64 {
	v := &l.window
	c := l.countedAt(w, o, now)
	switch {
	case c.used+n <= capacity && !l.window.shut(c, now):
		return 0
	case l.kind == FromFirst:
		return int64(v.until(c) - now)
	case c.late+n <= capacity:
		return int64(v.time(c.end) - now)
	}
	// The next window begins with what came late in this one; the one after it is
	// free. Where it begins, by the wall clock of now, is a window's length on.
	next := v.time(c.end) + clock.Time(v.span)
	if begin := v.begin(now); v.up(begin+clock.Time(v.span)) == c.end {
		next = begin + clock.Time(2*v.span) // the end before it was rounded
	}
	return int64(v.time(v.up(next)) - now)
}

// busyWindow returns how long until nothing is counted any more, or with open until
// no window is open.
func (l *Limit) busyWindow(w uint64, o Origin, now clock.Time, open bool) int64 {
	v := &l.window
	c := l.countedAt(w, o, now)
	end := v.until(c)
	switch {
	case l.kind == Aligned && c.late > 0:
		end = v.time(c.end) + clock.Time(v.span)
	case c.used == 0 && !(open && now < v.until(v.read(w, o, now))):
		return 0
	}
	return int64(max(0, end-now))
}

// chargeWindow counts n tokens whatever is left. The count saturates above the
// capacity.
func (l *Limit) chargeWindow(w uint64, o Origin, now clock.Time, n int64) uint64 {
	if n == 0 {
		return w // opens no window
	}
	v, c := &l.window, l.countedAt(w, o, now)
	if l.kind == FromFirst && v.shut(c, now) {
		// It may have opened the venue's next window: ours opens no earlier than that is over.
		c.late = max(c.late, v.holdFor(c, now))
	}
	return v.word(l.count(c, now, min(n, MaxCount)), o)
}

// holdFor is how much later than its end the next window may open, in units of hold,
// where the venue's may have opened as late as now.
func (v *window) holdFor(c counted, now clock.Time) int64 {
	passed := int64(now-v.time(c.end)) + v.span + v.skew + 1<<v.quant - 1 // the end was rounded up
	return (passed + v.hold - 1) / v.hold
}

// creditWindow takes n tokens off the count of the window in force.
func (l *Limit) creditWindow(w uint64, o Origin, now clock.Time, n int64) uint64 {
	c := l.countedAt(w, o, now)
	if c.used == 0 {
		return w // opens no window
	}
	c.used = max(0, c.used-n)
	if l.kind == Aligned {
		c.late = min(c.late, c.used)
	}
	return l.window.word(c, o)
}

// givenWindow takes n tokens off that were counted at the time at, in whichever
// windows counted them that still matter: they were not sent. It reports false where
// none does.
func (l *Limit) givenWindow(w uint64, o Origin, at, now clock.Time, n int64) (uint64, bool) {
	v := &l.window
	c := v.read(w, o, now)
	end := v.time(c.end)
	begin := end - clock.Time(v.span+v.skew)
	if l.kind == FromFirst {
		if now >= v.until(c) || at < begin-(1<<v.quant-1) {
			return w, false
		}
		return l.unsent(c, o, at <= begin+clock.Time(c.late*v.hold), now, n), true
	}
	inZone := v.late > 0 && at >= end-clock.Time(v.skew) && at < end
	switch {
	case now < end && at >= begin:
		// Counted in the window in force, as its own or as what came late before it.
		c.used = max(0, c.used-n)
	case now >= end && inZone:
		// The window is over, and will count in the next one what came late in it.
	default:
		return w, false
	}
	if inZone {
		c.late = max(0, c.late-n)
	}
	return v.word(c, o), true
}

// unsent takes n tokens off a window from the first event. If they are all that it
// counted, the venue's window did not open, and neither did ours. If they may have
// opened it, and others came after them, the venue's began with one of those: later
// than ours, by no more than has passed. So much later the next window opens here,
// rounded up to 1/32 of a window.
func (l *Limit) unsent(c counted, o Origin, first bool, now clock.Time, n int64) uint64 {
	v := &l.window
	c.used = max(0, c.used-n)
	if c.used == 0 {
		return l.fullWindow(o, now)
	}
	if begin := v.time(c.end) - clock.Time(v.span+v.skew); first && int64(now-begin) > 1<<v.quant-1 {
		c.late = max(c.late, v.holdFor(c, now))
	}
	return v.word(c, o)
}

// rebaseWindow returns the word for a key that was last touched at seen and is
// touched again at now, in another era: a window that ended long before is
// written down as one that ended just now and counted nothing.
func (l *Limit) rebaseWindow(w uint64, o Origin, seen, now clock.Time) uint64 {
	v := &l.window
	c := v.read(w, o, seen)
	if max(v.until(c), v.time(c.end)+clock.Time(v.span+v.skew)) > now {
		return w // it may still matter; it is within range
	}
	return l.fullWindow(o, now)
}

// Window returns the number of the window that now falls into: of an aligned one
// since 1970 UTC, of one from the first event when it opened, ns of the gate's
// clock; 0 for the other kinds.
func (l *Limit) Window(w uint64, o Origin, now clock.Time) int64 {
	v := &l.window
	if l.kind != Aligned && l.kind != FromFirst {
		return 0
	}
	c := l.countedAt(w, o, now)
	opened := v.time(c.end) - clock.Time(v.span+v.skew)
	if l.kind == FromFirst {
		return int64(opened)
	}
	// The middle of the window, so that neither rounding nor slewing matters.
	mid := v.wall.UnixNano(opened + clock.Time(v.span/2))
	n := mid / v.span
	if mid%v.span < 0 {
		n--
	}
	return n
}
