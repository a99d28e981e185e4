package bucket

import (
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

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
	if prev == nil {
		return l.Full(o, at)
	}
	if prev.unit == l.unit && prev.cost == l.cost {
		return w&^parityBit | l.parity // the capacity is not in the word
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
	return (l.pos(o, at) + after) | l.parity
}
