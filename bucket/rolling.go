package bucket

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// A rolling limit never admits more than N tokens in any span of its length. It
// keeps the times of the last tokens in a ring (ring.go). Its word says how many
// were ever taken, and when the last ones were:
//
//	 63                            13+g      1        0
//	┌──────────────────────────────┬─────────┬────────┐
//	│ time of the last take, 2^g ns│ tokens  │ parity │   + origin
//	└──────────────────────────────┴─────────┴────────┘
//
// Taking is one swap of the word, from (t, s) to (t', s+n): that is where it
// linearizes. The ring is written afterwards, by the taker or by whoever comes
// next, from what the word says ([Limit.complete]); until that is done nobody
// takes again. So what a take reads of the ring belongs to the word it swaps.
//
// Token s fits at now if token s−N was taken at least a span ago: with the ring
// of the last tokens that is one look, whatever N is.
//
// Up to 1,024 tokens every one has its own time, to the nanosecond. Above, 2^g
// tokens in a row share the time of the last of them, and times are rounded up to
// 2^g ns: that admits less, never more, by at most 2^g − 1 tokens, below 1/512
// of N.
type rolling struct {
	span  int64  // ns, with the skew
	per   int64  // ns, without
	group uint8  // g: 2^g tokens share an entry
	mask  uint64 // entries in the ring − 1
	mark  uint64 // Limit.mark
}

const (
	// exactTokens is up to how many tokens every one has its own entry.
	exactTokens = 1024

	// countBits of the count of tokens, beside those of a group, tell apart what may
	// be under way: at most 1,024 entries, twice that in the ring.
	countBits = 12

	// maxSpan is 6 days: the time in a word is told apart within ± 2^50 ns, 13 days.
	maxSpan = 6 * 24 * 3600 * 1_000_000_000
)

// ErrRolling is the error for a span that does not fit.
var ErrRolling = errors.New("a rolling window with its skew must be at most 6 days")

// NewRolling compiles a limit of tokens in any span of span+skew nanoseconds.
func NewRolling(tokens, span, skew int64) (Limit, error) {
	var faults []error
	if tokens < 1 || tokens > MaxCount {
		faults = append(faults, ErrCount)
	}
	if span <= 0 {
		faults = append(faults, ErrSpan)
	}
	if skew < 0 || span > maxSpan || span > 0 && skew > maxSpan-span {
		faults = append(faults, ErrRolling)
	}
	if faults != nil {
		return Limit{}, fmt.Errorf("%d per %v: %w", tokens, time.Duration(span), errors.Join(faults...))
	}
	r := rolling{span: span + skew, per: span}
	for tokens>>r.group > exactTokens || tokens&(1<<r.group-1) != 0 && tokens>>r.group >= exactTokens {
		r.group++
	}
	if r.group > 0 && (span+skew)>>r.group < 100 {
		return Limit{}, fmt.Errorf("%d per %v: %w", tokens, time.Duration(span), ErrCoarse)
	}
	r.mask = uint64(entriesFor(tokens, r.group)) - 1
	return Limit{kind: Rolling, tokens: tokens, most: tokens, unit: 1, roll: r}, nil
}

// entriesFor returns how many entries a ring needs: twice the tokens, so that
// tokens that were given back do not push out others, and a power of two.
func entriesFor(tokens int64, group uint8) int {
	n := uint64(tokens+1<<group-1) >> group
	return max(16, 1<<bits.Len64(2*n-1))
}

// taken is a word of a rolling limit, taken apart, as of a time.
type taken struct {
	at int64 // when the last tokens were taken, in 2^group ns
	n  uint64
}

func (r *rolling) countMask() uint64 { return 1<<((countBits+r.group)&63) - 1 }

// quanta rounds a time up.
func (r *rolling) quanta(t clock.Time) int64 { return -(int64(-t) >> (r.group & 63)) }

func (r *rolling) read(w uint64, o Origin, now clock.Time) taken {
	w -= uint64(o) + r.mark
	q := int64(now) >> (r.group & 63)
	s := (1 + countBits + r.group) & 63
	return taken{
		at: q + int64(w-uint64(q)<<(s&63))>>(s&63),
		n:  w >> 1 & r.countMask(),
	}
}

func (r *rolling) word(t taken, o Origin) uint64 {
	return (uint64(t.at)<<((1+countBits+r.group)&63) | t.n&r.countMask()<<1) + uint64(o) + r.mark
}

// fullRolling is the word of a limit that counts nothing at now, over a ring in
// which n tokens were counted.
func (l *Limit) fullRolling(o Origin, now clock.Time, n uint64) uint64 {
	long := int64(now-clock.Time(l.roll.span)) >> l.roll.group // rounded down: over
	return l.roll.word(taken{at: long, n: n}, o)
}

// tryRolling is [Limit.Try] for a rolling limit.
func (l *Limit) tryRolling(w uint64, c *Cell, now clock.Time, n, capacity int64) (uint64, Outcome) {
	r := &l.roll
	t := r.read(w, c.Origin, now)
	b, ok := l.complete(t, c)
	if !ok {
		return 0, Stale
	}
	var fits bool
	if s := b.tokens(); b.voids() == 0 {
		// The token that must have left the span, by number.
		last := int64(s) + n - capacity - 1
		fits = last < 0 || r.over(c.Ring.at(r, uint64(last)>>(r.group&63)), now)
	} else {
		fits = !l.lost(c, b, t, now) && l.live(c, b, now)+n <= capacity && l.hasRoom(c, b, now, n)
	}
	if !fits {
		if !c.holds() {
			return 0, Stale // what was read of the ring need not belong to w
		}
		return 0, Short
	}
	return r.word(taken{at: max(t.at, r.quanta(now)), n: t.n + uint64(n)}, c.Origin), Fits
}

// over reports whether an entry's tokens are out of the span that ends at now.
func (r *rolling) over(e entry, now clock.Time) bool { return r.left(e.time(r, now), now) <= 0 }

// left returns how long after now what was taken at a time is out of the span, below 0
// if it is. The times differ by little, also at the end of all time, where at plus the
// span would wrap.
func (r *rolling) left(at, now clock.Time) int64 { return int64(r.span) - int64(now-at) }

// busyRolling returns how long until nothing is counted any more.
func (l *Limit) busyRolling(w uint64, o Origin, now clock.Time) int64 {
	last := clock.Time(l.roll.read(w, o, now).at << l.roll.group)
	return max(0, l.roll.left(last, now))
}
