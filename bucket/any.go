package bucket

import (
	"math"
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

// What follows serves limits of every kind. w is always the word as it was loaded
// from the cell, in l's generation.

// Most returns what an ordinary or an urgent call may take at once.
func (l *Limit) Most(urgent bool) int64 {
	if urgent {
		return l.most
	}
	return l.tokens
}

// Try computes the word after n tokens were taken at now. n must be in 0..Most.
func (l *Limit) Try(w uint64, c *Cell, now clock.Time, n int64, urgent bool) (next uint64, got Outcome) {
	ok := false
	switch l.kind {
	case TokenBucket:
		next, ok = l.Take(w, c.Origin, now, n)
		if urgent && !ok {
			ok = used(w, l.pos(c.Origin, now))+n*l.cost <= l.whole
		}
	case Rolling:
		return l.tryRolling(w, c, now, n, l.Most(urgent))
	default:
		next, ok = l.tryWindow(w, c.Origin, now, n, l.Most(urgent))
	}
	if !ok {
		return 0, Short
	}
	return next, Fits
}

// Left returns the whole tokens left at now, never below 0.
func (l *Limit) Left(w uint64, c *Cell, now clock.Time, urgent bool) int64 {
	switch l.kind {
	case TokenBucket:
		left := l.room
		if urgent {
			left = l.whole
		}
		if left -= used(w, l.pos(c.Origin, now)); left < l.cost {
			return 0
		}
		return left / l.cost
	case Rolling:
		return l.leftRolling(c, now, l.Most(urgent))
	}
	return l.leftWindow(w, c.Origin, now, l.Most(urgent))
}

// Wait returns the least number of nanoseconds after now at which n tokens fit if
// nobody else takes: 0 if they fit now. n must be in 0..Most, but of a token bucket
// may be more: so long does it take to refill that many.
func (l *Limit) Wait(w uint64, c *Cell, now clock.Time, n int64, urgent bool) int64 {
	switch l.kind {
	case TokenBucket:
		room := l.room
		if urgent {
			room = l.whole
		}
		u := used(w, l.pos(c.Origin, now))
		if hi, lo := bits.Mul64(uint64(n), uint64(l.cost)); hi != 0 || lo > maxAhead {
			return math.MaxInt64
		}
		return ceilDiv(max(0, u+n*l.cost-room), l.unit)
	case Rolling:
		return l.waitRolling(c, now, n, l.Most(urgent))
	}
	return l.waitWindow(w, c.Origin, now, n, l.Most(urgent))
}

// Busy returns how long until nothing is used, ns: 0 for a full limit.
func (l *Limit) Busy(w uint64, o Origin, now clock.Time) int64 {
	switch l.kind {
	case TokenBucket:
		return l.Used(w, o, now)
	case Rolling:
		return l.busyRolling(w, o, now)
	}
	return l.busyWindow(w, o, now, false)
}

// Owes returns how long the word must be kept, ns. That is Busy, but for a window
// that its first event opened, which is in force until its end even if all that it
// counted was given back.
func (l *Limit) Owes(w uint64, o Origin, now clock.Time) int64 {
	if l.kind == FromFirst {
		return l.busyWindow(w, o, now, true)
	}
	return l.Busy(w, o, now)
}

// Force returns the word after n tokens were charged at now whatever is left.
func (l *Limit) Force(w uint64, c *Cell, now clock.Time, n int64) (uint64, Outcome) {
	switch l.kind {
	case TokenBucket:
		return l.Charge(w, c.Origin, now, n), Fits
	case Rolling:
		return l.chargeRolling(w, c, now, n)
	}
	return l.chargeWindow(w, c.Origin, now, n), Fits
}

// Empty returns the word of a limit of which nothing is used at now. A rolling
// one needs a new ring as well ([Cell.Open]).
func (l *Limit) Empty(o Origin, now clock.Time) uint64 {
	switch l.kind {
	case TokenBucket:
		return l.Full(o, now)
	case Rolling:
		return l.fullRolling(o, now, 0)
	}
	return l.fullWindow(o, now)
}

// First returns the word of a new key of which n tokens are taken at now, without
// a look at what is there.
func (l *Limit) First(o Origin, now clock.Time, n int64) uint64 {
	switch {
	case n == 0:
		return l.Empty(o, now)
	case l.kind == TokenBucket:
		w, _ := l.Take(l.Full(o, now), o, now, n)
		return w
	case l.kind == Rolling:
		return l.roll.word(taken{at: l.roll.quanta(now), n: uint64(n)}, o, l.parity)
	}
	w, _ := l.tryWindow(l.fullWindow(o, now), o, now, n, l.most)
	return w
}

// Renew returns the word for a key that was last touched at seen and is touched
// again at now, in another era: what has been over for long is written down as
// over now, so that differences stay small.
func (l *Limit) Renew(w uint64, c *Cell, seen, now clock.Time) uint64 {
	switch l.kind {
	case TokenBucket:
		return l.Rebase(w, c.Origin, seen, now)
	case Rolling:
		t := l.roll.read(w, c.Origin, seen)
		if _, ok := l.complete(w, t, c); !ok || clock.Time(t.at<<l.roll.group)+clock.Time(l.roll.span) > now {
			return w
		}
		return l.fullRolling(c.Origin, now, t.n)
	}
	return l.rebaseWindow(w, c.Origin, seen, now)
}

// Spent returns the tokens used at now, rounded up; in debt more than the capacity.
func (l *Limit) Spent(w uint64, c *Cell, now clock.Time) int64 {
	switch l.kind {
	case TokenBucket:
		return ceilDiv(used(w, l.pos(c.Origin, now)), uint64(l.cost))
	case Rolling:
		_, b, ok := l.ring(c, now)
		if !ok {
			return l.most
		}
		return l.live(c, b, now)
	}
	return l.countedAt(w, c.Origin, now).used
}

// SpentWhole is Spent rounded down.
func (l *Limit) SpentWhole(w uint64, c *Cell, now clock.Time) int64 {
	if l.kind == TokenBucket {
		return l.UsedTokens(w, c.Origin, now)
	}
	return l.Spent(w, c, now)
}

// Return gives n tokens back that were taken at the time at, of a limit that is no
// token bucket (for that one see [Limit.GiveBack]), as far as they still count. It
// reports false where there is no word to swap in: nothing is to be given back, or
// the ring has it. Gifts to a key come one at a time.
func (l *Limit) Return(w uint64, c *Cell, at, now clock.Time, n int64) (uint64, bool) {
	if l.kind == Rolling {
		l.giveRolling(c, at, now, n)
		return w, false
	}
	return l.givenWindow(w, c.Origin, at, now, n)
}

// Relieve gives n tokens back that nobody returns, down to nothing used: of a
// rolling limit those that would be out of the span first. ns is what that was as
// refill of a token bucket, rounded up. It reports false where there is no word to
// swap in. Gifts to a key come one at a time.
func (l *Limit) Relieve(w uint64, c *Cell, now clock.Time, n int64) (next uint64, ns int64, ok bool) {
	switch l.kind {
	case TokenBucket:
		next, ns = l.Credit(w, c.Origin, now, n)
		return next, ns, true
	case Rolling:
		l.creditRolling(c, now, n)
		return w, 0, false
	}
	return l.creditWindow(w, c.Origin, now, n), 0, true
}

// Covers reports whether a venue's count as of a take at the time at says something
// of what is counted now: of a window, that it is still in force and its own; of
// the others, that what was counted then need not be over.
func (l *Limit) Covers(w uint64, c *Cell, at, now clock.Time) bool {
	switch l.kind {
	case TokenBucket:
		return true
	case Rolling:
		return now-at < clock.Time(l.roll.span)
	}
	v := &l.window
	end := v.time(v.read(w, c.Origin, now).end)
	begin := end - clock.Time(v.span)
	if l.kind == FromFirst {
		begin -= clock.Time(v.skew)
	}
	return now < end && at >= begin-(1<<v.quant-1)
}
