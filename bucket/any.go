package bucket

import (
	"math"
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

// What follows serves limits of every kind. w is always the word that was loaded from
// the cell, Cell.Raw, in l's generation.

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
	case Budget:
		return l.TryBudget(w, c.Origin, c.Ring, now, n, urgent)
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
	case Budget:
		return max(0, l.allows(l.spot(w, c.Origin), c.Ring, now, urgent))
	case Rolling:
		return l.leftRolling(w, c, now, l.Most(urgent))
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
	case Budget:
		return l.waitBudget(w, c, now, n, urgent)
	case Rolling:
		return l.waitRolling(w, c, now, n, l.Most(urgent))
	}
	return l.waitWindow(w, c.Origin, now, n, l.Most(urgent))
}

// Busy returns how long until nothing is used, ns: 0 for a full limit.
func (l *Limit) Busy(w uint64, o Origin, now clock.Time) int64 {
	switch l.kind {
	case TokenBucket:
		return l.Used(w, o, now)
	case Budget:
		return l.busyBudget(w, o)
	case Rolling:
		return l.busyRolling(w, o, now)
	}
	return l.busyWindow(w, o, now, false)
}

// Reset returns how long until nothing is used, ns, what was given back left out.
func (l *Limit) Reset(w uint64, c *Cell, now clock.Time) int64 {
	if l.kind == Rolling {
		return l.resetRolling(w, c, now)
	}
	return l.Busy(w, c.Origin, now)
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
	case Budget:
		return l.chargeBudget(w, c.Origin, n), Fits
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
	case Budget:
		return l.base(o)
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
	case l.kind == Budget:
		return l.chargeBudget(l.base(o), o, n)
	case l.kind == Rolling:
		return l.roll.word(taken{at: l.roll.quanta(now), n: uint64(n)}, o)
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
	case Budget:
		return w // it tells no time
	case Rolling:
		t := l.roll.read(w, c.Origin, seen)
		if _, ok := l.complete(t, c); !ok || clock.Time(t.at<<l.roll.group)+clock.Time(l.roll.span) > now {
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
	case Budget:
		return l.Pending(w, c.Origin)
	case Rolling:
		return l.live(c, l.ring(w, c, now), now)
	}
	return l.countedAt(w, c.Origin, now).used
}

// SpentWhole is Spent rounded down; of a Budget it is its Total.
func (l *Limit) SpentWhole(w uint64, c *Cell, now clock.Time) int64 {
	switch l.kind {
	case TokenBucket:
		return l.UsedTokens(w, c.Origin, now)
	case Budget:
		return int64(l.Total(w, c.Origin)) // by which a charge is known again
	}
	return l.Spent(w, c, now)
}

// Gift is what [Limit.Return] and [Limit.Relieve] made of what they were to give.
type Gift struct {
	Word   uint64 // to be swapped in, where Swap is set: then that is the gift
	Swap   bool
	Tokens int64 // given
	NS     int64 // the same as refill of a token bucket, ns, rounded up; else 0
	Again  bool  // the word moved: what is left is to be tried again
}

// Return gives n tokens back that were taken at the time at, of a limit that is no
// token bucket (for that one see [Limit.GiveBack]), as far as they still count. Gifts
// to a key come one at a time.
func (l *Limit) Return(w uint64, c *Cell, at, now clock.Time, n int64) (g Gift) {
	if l.kind == Budget {
		return Gift{} // see Untold
	}
	if l.kind == Rolling {
		given, ok := l.giveRolling(c, w, at, now, n)
		return Gift{Tokens: given, Again: !ok}
	}
	g.Word, g.Swap = l.givenWindow(w, c.Origin, at, now, n)
	g.Tokens = n
	return g
}

// Relieve gives n tokens back that nobody returns, down to nothing used: of a
// rolling limit those that would be out of the span first. Gifts to a key come one at
// a time.
func (l *Limit) Relieve(w uint64, c *Cell, now clock.Time, n int64) (g Gift) {
	switch l.kind {
	case TokenBucket:
		g.Word, g.NS = l.Credit(w, c.Origin, now, n)
		return Gift{Word: g.Word, NS: g.NS, Swap: true, Tokens: n}
	case Budget:
		return Gift{}
	case Rolling:
		given, ok := l.creditRolling(c, w, now, n)
		return Gift{Tokens: given, Again: !ok}
	}
	used := l.countedAt(w, c.Origin, now).used
	return Gift{Word: l.creditWindow(w, c.Origin, now, n), Swap: true, Tokens: min(n, used)}
}

// Added returns the tokens that a charge added to what is used, given the word
// before and after it; n is what it was to add.
func (l *Limit) Added(before, after uint64, o Origin, now clock.Time, n int64) int64 {
	switch l.kind {
	case TokenBucket, Budget:
		return n
	case Rolling:
		r := &l.roll
		return int64((r.read(after, o, now).n - r.read(before, o, now).n) & r.countMask())
	}
	return l.countedAt(after, o, now).used - l.countedAt(before, o, now).used
}

// Expired returns the tokens of a rolling limit that counted at the time since and do
// not at now: at least that many of them time gave back. 0 for other kinds.
func (l *Limit) Expired(w uint64, c *Cell, since, now clock.Time) int64 {
	if l.kind != Rolling {
		return 0
	}
	b, n := l.ring(w, c, now), int64(0)
	g, _ := l.inSpan(c, b, since)
	for to, _ := l.inSpan(c, b, now); g < to; g++ {
		n += l.in(c.Ring.at(&l.roll, g), g, b)
	}
	return n
}

// Covers reports whether a venue's count as of a take at the time at says something
// of what is counted now: of a window, that it is still in force and its own; of
// the others, that what was counted then need not be over.
func (l *Limit) Covers(w uint64, c *Cell, at, now clock.Time) bool {
	switch l.kind {
	case TokenBucket:
		return true
	case Budget:
		return false
	case Rolling:
		return now-at < clock.Time(l.roll.span)
	}
	v := &l.window
	end := v.time(v.read(w, c.Origin, now).end)
	begin := end - clock.Time(v.span)
	if l.kind == FromFirst {
		begin -= clock.Time(v.skew)
	}
	// What was sent where it counts in two windows, the venue may have answered for
	// either.
	return now < end && at >= begin-(1<<v.quant-1) && !(v.late > 0 && v.hold == 0 && at >= v.zone(v.quanta(end)))
}
