package bucket

import (
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

// Converts reports whether a word of prev becomes one of l by [Limit.Convert], a
// function of the word alone. Where a ring is to be written or to be read for it,
// prev stays in force for a key until [Limit.TakeOver] was called for it.
func (l *Limit) Converts(prev *Limit) bool {
	if l.kind == Budget || prev.kind == Budget {
		return true // they never become one another ([Plan.Next])
	}
	if l.kind == Rolling || prev.kind == Rolling {
		return l.kind == prev.kind && l.rings == prev.rings && l.roll.span == prev.roll.span
	}
	return true
}

// sameUnits reports whether what was charged under prev is in l's units.
func (l *Limit) sameUnits(prev *Limit) bool {
	return l.kind == prev.kind && l.unit == prev.unit && l.cost == prev.cost &&
		l.window.span == prev.window.span && l.window.skew == prev.window.skew && l.rings == prev.rings && l.roll.span == prev.roll.span
}

// Convert returns the word of l, the new generation of a limit, for a word w
// that prev, the generation before, wrote. What was used at the time of the
// change, in tokens, stays used: only its expression changes, from prev's units
// to l's, rounded up. The level moves by the change in capacity alone, so a
// change refills nothing, and a debt stays a debt.
//
// It is a pure function of the word and of at, the time of the change: whoever
// meets the word first converts it, and everybody would write the same.
// prev == nil is a limit that did not exist before: it starts full.
func (l *Limit) Convert(prev *Limit, w uint64, o Origin, at clock.Time) uint64 {
	switch {
	case prev == nil || l.kind != prev.kind && (l.kind == Budget || prev.kind == Budget):
		return l.Empty(o, at)
	case l.kind == Budget:
		return l.moved(prev, w)
	case l.kind == Rolling: // its ring stays as it is
		return l.moved(prev, w)
	case l.kind != TokenBucket || prev.kind != TokenBucket:
		return l.convertWindow(prev, w, o, at)
	}
	if prev.unit == l.unit && prev.cost == l.cost {
		return l.moved(prev, w) // the capacity is not in the word
	}
	u := uint64(used(w, prev.pos(o, at)))
	// u/prev.cost tokens, times l.cost.
	hi, lo := bits.Mul64(u, uint64(l.cost))
	after := uint64(maxAhead)
	if c := uint64(prev.cost); hi < c {
		quo, rem := bits.Div64(hi, lo, c)
		if rem > 0 && quo < maxAhead {
			quo++
		}
		after = min(quo, maxAhead) // before evening out, which could wrap
		after += after & 1         // positions are even
	}
	return l.pos(o, at) + after
}

// moved returns the word on l's axis and with its parity, otherwise the same.
func (l *Limit) moved(prev *Limit, w uint64) uint64 {
	return w - prev.mark + l.mark
}

// convertWindow is Convert where one of the two counts in windows. The same
// windows keep their count; other ones begin with what was used at the change.
func (l *Limit) convertWindow(prev *Limit, w uint64, o Origin, at clock.Time) uint64 {
	if l.kind == prev.kind && l.window.span == prev.window.span {
		c := prev.window.read(w, o, at)
		c.end = l.window.up(prev.window.time(c.end) + clock.Time(l.window.skew-prev.window.skew))
		if l.kind == Aligned && l.window.late > 0 && prev.window.late == 0 && at >= l.window.zone(c.end) {
			c.late = c.used // it was not kept apart
		}
		return l.window.word(c, o)
	}
	return l.holding(o, at, prev.Spent(w, &Cell{Origin: o}, at))
}

// holding returns the word of a limit, not a rolling one, of which n tokens are
// used at the time at.
func (l *Limit) holding(o Origin, at clock.Time, n int64) uint64 {
	switch {
	case n == 0:
		return l.Empty(o, at)
	case l.kind == TokenBucket:
		return l.Charge(l.Full(o, at), o, at, n)
	}
	return l.chargeWindow(l.fullWindow(o, at), o, at, n)
}

// TakeOver returns the word of l for a cell that holds w, of prev, where
// [Limit.Converts] says that it is no function of the word: c is the cell with
// prev's ring, ring the one of l. What was used at the time at stays used.
//
// It writes l's ring, so only one goroutine may do it for a key. If the word is
// not w any more when it is to be swapped, it is to be done again.
func (l *Limit) TakeOver(prev *Limit, w uint64, c *Cell, ring Ring, at clock.Time) uint64 {
	n := prev.Spent(w, c, at)
	if prev.kind == Rolling && prev.overflowed(c, prev.ring(w, c, at), at) {
		n = max(n, l.most)
	}
	if l.kind != Rolling {
		return l.holding(c.Origin, at, n)
	}
	to := Cell{Word: c.Word, Raw: c.Raw, Origin: c.Origin, Ring: ring, Owner: c.Owner}
	if prev.kind == Rolling && prev.roll.per == l.roll.per {
		return l.copyRolling(prev, w, c, &to, at)
	}
	return l.fillRolling(&to, at, n)
}
