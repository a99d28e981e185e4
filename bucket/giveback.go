package bucket

import "github.com/tickgate/tickgate/clock"

// Charged is what must be remembered of a take so that it can be given back
// later without minting tokens.
type Charged struct {
	At    clock.Time // when it was charged
	Ahead int64      // how long before it the bucket would have been full again, ns, rounded down
	Done  int64      // what had been given back on this key by then, ns of refill
}

// GiveBack returns how much of a charge of n tokens may be given back at now, in
// position units, and the same in nanoseconds of refill, rounded up. given is
// what was given back on the key since the charge, ns.
//
// Subtracting the charge as it was is a trap: a full bucket, A takes, a token's
// time passes, X takes, A gives back; then X's token was free and C+1 pass at
// once. The charge x was made at P1 on the base B = max(F, P1), so it occupies
// [B, B+x) of the axis, or [B−R, B+x−R) if R was given back since. What lies
// behind now has been refilled by time already and belongs to nobody:
//
//	give = x − max(0, P2 − max(P1, B−R)), at least 0
//
// Without R two refunds in a row would each count the same stretch. Rounding of
// Ahead down and of given up makes the base smaller, hence the gift smaller.
func (l *Limit) GiveBack(c Charged, now clock.Time, n, given int64) (units uint64, ns int64) {
	x := n * l.cost
	base := max(0, c.Ahead-given) // of the axis, ns after c.At
	since := int64(now - c.At)    // ns; the caller sees to now ≥ c.At
	// In nanoseconds first, so that nothing overflows: what passed beyond base.
	gone := max(0, since-base)
	if gone > x/int64(l.unit) {
		return 0, 0
	}
	give := x - gone*int64(l.unit)
	if give <= 0 {
		return 0, 0
	}
	return uint64(give), ceilDiv(give, l.unit)
}

// Lower returns the word after units of it were given back at now, never below
// full at now. Units come from [Limit.GiveBack].
func (l *Limit) Lower(w uint64, o Origin, now clock.Time, units uint64) uint64 {
	return w - min(units, uint64(used(w, l.pos(o, now))))
}

// AheadBefore returns what was used at now before n tokens were taken, given the
// word after, as nanoseconds of refill, rounded down: what goes into [Charged].
func (l *Limit) AheadBefore(after uint64, o Origin, now clock.Time, n int64) int64 {
	return max(0, used(after, l.pos(o, now))-n*l.cost) / int64(l.unit)
}
