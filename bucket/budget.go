package bucket

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/tickgate/tickgate/clock"
)

// A limit of the kind Budget does not count over time. It bounds what a key may use
// here of tokens that other processes use too, until whoever keeps the common account
// (package redisync) has settled with it. It stands beside a token bucket in the same
// policy, or in its place.
//
//	 63           34 33          4  3        2       1       0
//	┌───────────────┬──────────────┬───────┬───────┬────────┬────────┐
//	│ mark 30       │ total 30     │ wants │ known │ flight │ parity │   + origin
//	└───────────────┴──────────────┴───────┴───────┴────────┴────────┘
//
// total is all that was ever taken, modulo 2^30. On credit, mark is how much of it is
// settled, and at most Terms.Credit may lie between the two. On a lease, mark is how
// much was granted, and total may not pass it. flight says that total may have been
// told to others: from then on nothing is taken off it, because somebody may have
// counted it. known says that the account answered for the key at least once. wants
// says that somebody was denied.
//
// total only grows while it is in flight, and takers and the one who settles change
// one word by compare-and-swap: so what is settled is never more than what was taken,
// and what is pending is never more than the credit.
type budget struct {
	mode  Mode
	terms *Terms
}

// Mode is how a key's use is bounded.
type Mode uint8

// The modes.
const (
	OnCredit Mode = iota + 1 // a number of tokens that are not settled yet
	OnLease                  // tokens that were granted, until a time
	Remote                   // nothing is used here: every take is decided elsewhere
)

// Terms are what the keys of a policy have in common; they may change at any time.
type Terms struct {
	First atomic.Int64 // on credit: tokens for a key that the account has not answered for
	Shut  atomic.Bool  // ordinary calls are denied
	Hint  atomic.Int64 // when it is worth asking again after a denial, ns
}

const (
	// MaxCredit is the most tokens on credit, and the most of a lease at one time.
	MaxCredit = 1 << 28

	flightBit = 1 << 1
	knownBit  = 1 << 2
	wantsBit  = 1 << 3

	totalShift = 4
	markShift  = 34
	totalMask  = 1<<30 - 1

	// settleNS is put down for what is pending where somebody asks how long a limit is
	// in use: the account is settled many times a second, unless it is out of reach.
	settleNS = 1_000_000_000
)

// ErrCredit is the error of [NewBudget].
var ErrCredit = errors.New("must be 1 to 2^28 tokens")

// NewBudget makes a limit that bounds the use of a key by its terms: on credit to most
// tokens that are not settled, on a lease to most at once.
func NewBudget(mode Mode, most int64, terms *Terms) (Limit, error) {
	if most < 1 || mode == OnCredit && most > MaxCredit {
		return Limit{}, fmt.Errorf("credit of %d: %w", most, ErrCredit)
	}
	return Limit{kind: Budget, tokens: most, most: most, unit: 1, budget: budget{mode: mode, terms: terms}}, nil
}

// Mode returns the mode of a Budget, 0 for other kinds.
func (l *Limit) Mode() Mode { return l.budget.mode }

// spot is where the fields of a word begin: what is below it is parity and mark of
// the generation, and the origin.
func (l *Limit) spot(w uint64, o Origin) uint64 { return w - uint64(o) - l.mark }

func total(u uint64) uint64 { return u >> totalShift & totalMask }

// apart returns mark less total, which are never 2^29 apart.
func apart(u uint64) int64 {
	return int64(int32(uint32(u>>markShift)-uint32(total(u)))<<2) >> 2
}

// withTotal returns u with n more in total; n may be negative.
func withTotal(u uint64, n int64) uint64 {
	return u&^(totalMask<<totalShift) | (total(u)+uint64(n))&totalMask<<totalShift
}

// withMark returns u with n more in mark.
func withMark(u uint64, n int64) uint64 { return u + uint64(n)<<markShift }

// Refuses reports whether a key that is not in the table would be denied, however
// little it asks for. A leased one is not: it is brought in, so that it is granted some.
func (l *Limit) Refuses(urgent bool) bool {
	return l.budget.mode == Remote || !urgent && l.budget.terms.Shut.Load()
}

// Hint returns when it is worth asking again after a denial, ns, at least 1.
func (l *Limit) Hint() int64 { return max(1, l.budget.terms.Hint.Load()) }

// Pending returns what was taken on credit and is not settled.
func (l *Limit) Pending(w uint64, o Origin) int64 { return max(0, -apart(l.spot(w, o))) }

// LeaseLeft returns what is left of a lease, whether it is still good or not; less
// than 0 after a charge.
func (l *Limit) LeaseLeft(w uint64, o Origin) int64 { return apart(l.spot(w, o)) }

// Wanted reports whether somebody was denied.
func (l *Limit) Wanted(w uint64, o Origin) bool { return l.spot(w, o)&wantsBit != 0 }

// Want returns the word that says so.
func (l *Limit) Want(w uint64, o Origin) uint64 { return l.spot(w, o) | wantsBit + l.base(o) }

// base is what spot takes off.
func (l *Limit) base(o Origin) uint64 { return uint64(o) + l.mark }

// InFlight returns the word that says that what was taken is told to others.
func (l *Limit) InFlight(w uint64, o Origin) uint64 {
	return (l.spot(w, o)|flightBit)&^wantsBit + l.base(o)
}

// Settled returns the word after n tokens of what is pending were settled, or n more
// granted; n of a lease may be negative. done says that nothing is in flight any more.
func (l *Limit) Settled(w uint64, o Origin, n int64, done bool) uint64 {
	u := withMark(l.spot(w, o)|knownBit, n)
	if done {
		u &^= flightBit
	}
	return u + l.base(o)
}

// allows returns what may be taken by the word, at now.
func (l *Limit) allows(u uint64, c Ring, now clock.Time, urgent bool) int64 {
	b := &l.budget
	switch {
	case b.terms.Shut.Load() && !urgent:
		return 0
	case b.mode == OnCredit:
		if u&knownBit != 0 {
			return l.most + apart(u)
		}
		if apart(u) == 0 {
			return l.most // one take, however large, so that the account hears of the key
		}
		return min(l.most, b.terms.First.Load()) + apart(u)
	case b.mode == OnLease && c.base != nil && int64(now) < int64(c.word(1).Load()):
		return apart(u)
	}
	return 0
}

// TryBudget is [Limit.Try] for a Budget.
func (l *Limit) TryBudget(w uint64, o Origin, r Ring, now clock.Time, n int64, urgent bool) (uint64, Outcome) {
	u := l.spot(w, o)
	if n == 0 {
		return w, Fits
	}
	if n > l.allows(u, r, now, urgent) {
		return 0, Short
	}
	return withTotal(u, n) + l.base(o), Fits
}

// chargeBudget takes n tokens whatever is left; of a charge beyond 2^28 what is over
// it is lost.
func (l *Limit) chargeBudget(w uint64, o Origin, n int64) uint64 {
	u := l.spot(w, o)
	room := max(0, 1<<29-2+apart(u))
	return withTotal(u, min(n, room, MaxCredit)) + l.base(o)
}

// Total returns all that was ever taken, modulo 2^30.
func (l *Limit) Total(w uint64, o Origin) uint32 { return uint32(total(l.spot(w, o))) }

// Untold returns the word after a charge of n tokens, which left the given total, was
// taken back. It reports false if somebody may have been told of it: since nothing is in
// flight only where all that was told is settled, that is what lies before mark. What was
// leased stays used.
func (l *Limit) Untold(w uint64, o Origin, after uint32, n int64) (uint64, bool) {
	u := l.spot(w, o)
	// How far the total before the charge lies beyond mark, and not beyond total.
	beyond := int64(int32((after-uint32(n)-uint32(u>>markShift))<<2) >> 2)
	if l.budget.mode != OnCredit || u&flightBit != 0 || n <= 0 || beyond < 0 || beyond+n > -apart(u) {
		return w, false
	}
	return withTotal(u, -n) + l.base(o), true
}

// busyBudget is [Limit.Busy] for a Budget: what is not settled, or leased and left,
// must be kept.
func (l *Limit) busyBudget(w uint64, o Origin) int64 {
	if l.budget.mode == Remote || apart(l.spot(w, o)) == 0 {
		return 0
	}
	return settleNS
}

// waitBudget is [Limit.Wait] for a Budget: nobody can tell when the account answers,
// so it is a hint.
func (l *Limit) waitBudget(w uint64, c *Cell, now clock.Time, n int64, urgent bool) int64 {
	if n <= l.allows(l.spot(w, c.Origin), c.Ring, now, urgent) {
		return 0
	}
	return l.Hint()
}

// Until sets the time from which on nothing of the key's lease may be taken. It is for
// whoever grants, before the grant.
func (r Ring) Until(at clock.Time) { r.word(1).Store(uint64(at)) }

// Level returns the millionths of a token that are left of a token bucket at now,
// reserve included, rounded down: less than 0 in debt.
func (l *Limit) Level(w uint64, o Origin, now clock.Time) int64 {
	left := l.whole - used(w, l.pos(o, now))
	if left >= 0 {
		return mulDiv(uint64(left), millionths, uint64(l.cost), false)
	}
	return -mulDiv(uint64(-left), millionths, uint64(l.cost), true)
}

// Set returns the word of a token bucket with so many millionths of a token left at
// now, rounded down: no more than the capacity, and less than 0 in debt.
func (l *Limit) Set(o Origin, now clock.Time, level int64) uint64 {
	used := int64(0)
	if full := l.most * millionths; level < full {
		used = min(maxAhead, mulDiv(uint64(full-level), uint64(l.cost), millionths, true))
		used += used & 1 // positions are even
	}
	return l.pos(o, now) + uint64(used)
}

// millionths of a token are the unit in which levels are told to others.
const millionths = 1_000_000

// mulDiv is a·b/c, rounded down or up, at most MaxInt64.
func mulDiv(a, b, c uint64, up bool) int64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxInt64
	}
	q, r := bits.Div64(hi, lo, c)
	if up && r > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}
