package bucket

import (
	"math/bits"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/invariants"
)

// Take computes the word after n tokens were taken at now. It reports false,
// and the word is meaningless, if they do not fit. n must be in 0..Capacity
// (the caller answers a larger n with "too costly" before it looks at a word).
//
// Equal, stale or backward now: P is smaller, so more counts as used; nothing
// is minted. The word must carry l's parity.
func (l *Limit) Take(w uint64, o Origin, now clock.Time, n int64) (uint64, bool) {
	p := l.pos(o, now)
	// No overflow: used ≤ maxAhead < 2^62 and n·cost ≤ room < 2^62.
	after := used(w, p) + n*l.cost
	if invariants.Enabled {
		l.check(w, n, after)
	}
	return p + uint64(after), after <= l.room
}

// check panics where a take cannot be right.
func (l *Limit) check(w uint64, n, after int64) {
	switch {
	case n < 0 || n > l.most:
		panic("bucket: take of a cost outside 0..capacity")
	case !l.Reads(w):
		panic("bucket: word of another generation")
	case after < 0 || after-n*l.cost >= 1<<62:
		panic("bucket: word further ahead than a word can be")
	}
}

// Fits reports whether n tokens can ever be taken at once by an ordinary call.
func (l *Limit) Fits(n int64) bool { return n <= l.tokens }

// IsFull reports whether nothing is used at now.
func (l *Limit) IsFull(w uint64, o Origin, now clock.Time) bool {
	return int64(w-l.pos(o, now)) <= 0
}

// Used returns what is used at now as nanoseconds of refill, rounded up: 0 for a
// full bucket.
func (l *Limit) Used(w uint64, o Origin, now clock.Time) int64 {
	return ceilDiv(used(w, l.pos(o, now)), l.unit)
}

// UsedTokens returns the whole tokens used at now.
func (l *Limit) UsedTokens(w uint64, o Origin, now clock.Time) int64 {
	return used(w, l.pos(o, now)) / l.cost
}

// Remaining returns the whole tokens left at now, never below 0.
func (l *Limit) Remaining(w uint64, o Origin, now clock.Time) int64 {
	left := l.room - used(w, l.pos(o, now))
	if left < l.cost {
		return 0
	}
	return left / l.cost
}

// Retry returns the least number of nanoseconds after now at which n tokens fit
// if nobody else takes: 0 if they fit now. n must be in 0..Capacity.
func (l *Limit) Retry(w uint64, o Origin, now clock.Time, n int64) int64 {
	return ceilDiv(max(0, used(w, l.pos(o, now))+n*l.cost-l.room), l.unit)
}

// Charge returns the word after n tokens were charged at now whatever is left.
// Debt saturates at 2^62 units, at least 1.1 years of refill for every rate: a
// charge beyond is lost rather than wrapped into a full bucket. n must be ≥ 0.
func (l *Limit) Charge(w uint64, o Origin, now clock.Time, n int64) uint64 {
	p := l.pos(o, now)
	after := uint64(maxAhead)
	if hi, lo := bits.Mul64(uint64(n), uint64(l.cost)); hi == 0 && lo < maxAhead {
		after = min(uint64(used(w, p))+lo, maxAhead)
	}
	return p + after
}

// Credit returns the word after n tokens were given back at now without a
// Decision, by whoever counts them in truth: down to nothing used. It also
// returns what was given back in nanoseconds of refill, rounded up. n must be ≥ 0.
func (l *Limit) Credit(w uint64, o Origin, now clock.Time, n int64) (next uint64, given int64) {
	u := used(w, l.pos(o, now))
	give := uint64(u)
	if hi, lo := bits.Mul64(uint64(n), uint64(l.cost)); hi == 0 && lo < give {
		give = lo
	}
	return w - give, ceilDiv(int64(give), l.unit)
}

// Rebase returns the word for a slot that was last touched at seen and is
// touched again at now, in another era: a bucket that has become full
// meanwhile is written down as full at now, so that differences stay small.
func (l *Limit) Rebase(w uint64, o Origin, seen, now clock.Time) uint64 {
	u := used(w, l.pos(o, seen))
	if hi, lo := bits.Mul64(uint64(now-seen), l.unit); hi == 0 && lo < uint64(u) {
		return w // still in debt: F is ahead of now, in range
	}
	return l.Full(o, now)
}

// ceilDiv is ceil(a/b) for a ≥ 0.
func ceilDiv(a int64, b uint64) int64 {
	if a == 0 {
		return 0 // the usual case, without a division
	}
	q := uint64(a) / b
	if q*b != uint64(a) {
		q++
	}
	return int64(q)
}
