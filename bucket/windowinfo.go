package bucket

import "github.com/tickgate/tickgate/clock"

// fullWindow is the word of a window that has counted nothing.
func (l *Limit) fullWindow(o Origin, now clock.Time) uint64 {
	return l.window.word(counted{end: l.window.quanta(now)}, o, l.parity)
}

// leftWindow returns the tokens left at now.
func (l *Limit) leftWindow(w uint64, o Origin, now clock.Time, capacity int64) int64 {
	c := l.countedAt(w, o, now)
	if l.shut(c, now) {
		return 0
	}
	return max(0, capacity-c.used)
}

// waitWindow returns how long until n tokens fit, if nobody else takes.
func (l *Limit) waitWindow(w uint64, o Origin, now clock.Time, n, capacity int64) int64 {
	v := &l.window
	c := l.countedAt(w, o, now)
	switch {
	case c.used+n <= capacity && !l.shut(c, now):
		return 0
	case c.late+n <= capacity:
		return int64(v.time(c.end) - now)
	}
	// The next window begins with what came late in this one; the one after it is
	// free. Where it begins, by the wall clock of now, is a window's length on.
	return int64(v.time(v.up(v.time(c.end)+clock.Time(v.span))) - now)
}

// busyWindow returns how long until nothing is counted any more, or with open until
// no window is open.
func (l *Limit) busyWindow(w uint64, o Origin, now clock.Time, open bool) int64 {
	v := &l.window
	c := v.read(w, o, now)
	end := v.time(c.end)
	if c.late > 0 {
		end += clock.Time(v.span)
	} else if c.used == 0 && !open {
		return 0
	}
	return int64(max(0, end-now))
}

// chargeWindow counts n tokens whatever is left. The count saturates above the
// capacity.
func (l *Limit) chargeWindow(w uint64, o Origin, now clock.Time, n int64) uint64 {
	return l.window.word(l.count(l.countedAt(w, o, now), now, min(n, MaxCount)), o, l.parity)
}

// creditWindow takes n tokens off the count of the window in force.
func (l *Limit) creditWindow(w uint64, o Origin, now clock.Time, n int64) uint64 {
	c := l.countedAt(w, o, now)
	c.used = max(0, c.used-n)
	c.late = min(c.late, c.used)
	return l.window.word(c, o, l.parity)
}

// givenWindow takes n tokens off that were counted at the time at, in whichever
// windows counted them that still matter. It reports false where none does.
func (l *Limit) givenWindow(w uint64, o Origin, at, now clock.Time, n int64) (uint64, bool) {
	v := &l.window
	c := v.read(w, o, now)
	end := v.time(c.end)
	inZone := v.late > 0 && at >= end-clock.Time(v.skew) && at < end
	switch {
	case now < end && at >= end-clock.Time(v.span+v.skew):
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
	return v.word(c, o, l.parity), true
}

// rebaseWindow returns the word for a key that was last touched at seen and is
// touched again at now, in another era: a window that ended long before is
// written down as one that ended just now and counted nothing.
func (l *Limit) rebaseWindow(w uint64, o Origin, seen, now clock.Time) uint64 {
	v := &l.window
	c := v.read(w, o, seen)
	if v.time(c.end)+clock.Time(v.span+v.skew) > now {
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
