package bucket

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/tickgate/tickgate/clock"
)

const (
	// maxAhead bounds how far, in doubled units, a word may be ahead of now:
	// capacity and debt together. It is so far below 2^62 that a take on top of it
	// (at most a capacity, also below 2^62) cannot overflow an int64, not even for a
	// caller who is some milliseconds late.
	maxAhead = 1<<62 - 1<<32

	// eraBits divides time into eras of 2^42 ns, 73 minutes. A word is re-based when
	// its key's time enters another era ([SameEra]), so it is never behind now by
	// more than two of them: 2^43 · 2·63 < 2^62. A bucket would do with 2^54; the
	// words of windows have fewer bits for the time (window.go, rolling.go).
	eraBits = 42

	// maxRefill is the longest time in nanoseconds that a bucket may need from
	// empty to full: 365 days.
	maxRefill = 365 * 24 * 3600 * 1_000_000_000

	parityBit = 1
)

// SameEra reports whether no word need be re-based when its key's time moves from
// one time to the other.
func SameEra(a, b clock.Time) bool { return a>>eraBits == b>>eraBits }

// Errors of [New]. Package policy reports the same faults with more words; these
// are the last line of defence.
var (
	ErrRate     = errors.New("rate must be positive and at most 2 tokens a nanosecond")
	ErrCapacity = errors.New("capacity must be positive and refill within 365 days")
	ErrReserve  = errors.New("must be at least 0 and below the capacity")
)

// Limit is one compiled limit: constants for the arithmetic, never changed once
// published. All units are doubled positions (package comment).
type Limit struct {
	unit   uint64 // 2q: position units a nanosecond
	cost   int64  // 2c: position units a token
	room   int64  // 2·C·c: the capacity in position units, for ordinary calls
	tokens int64  // C: the capacity in tokens, for ordinary calls
	// mark is what a word of this generation carries beside its position: the parity,
	// 0 or 1, and an even number, where the axis of the generation begins; see [Plan].
	mark uint64

	// Urgent calls may use the reserve as well.
	whole int64 // room with the reserve
	most  int64 // tokens with the reserve

	high int64 // the largest capacity of this generation and those before

	kind   Kind
	window window  // of the kinds that count in windows
	rings  *Rings  // of Rolling, and a lease's; set by [Limit.WithRings]
	roll   rolling // of Rolling
	budget budget  // of Budget
}

// New compiles tokens per per nanoseconds with a capacity of capacity tokens.
func New(tokens, per, capacity int64) (Limit, error) {
	// Two tokens a nanosecond is 2e9/s, and the floor for q/c below.
	if tokens <= 0 || per <= 0 || tokens > 2*per && per < 1<<62 {
		return Limit{}, fmt.Errorf("%d per %d ns: %w", tokens, per, ErrRate)
	}
	s := reduce(tokens, per)
	hi, lo := bits.Mul64(uint64(max(capacity, 0)), s.c)
	if capacity <= 0 || hi != 0 || lo > maxRefill*s.q {
		return Limit{}, fmt.Errorf("%d tokens at %d per %d ns: %w", capacity, tokens, per, ErrCapacity)
	}
	return Limit{
		unit:   2 * s.q,
		cost:   2 * int64(s.c),
		room:   2 * int64(lo),
		whole:  2 * int64(lo),
		tokens: capacity,
		most:   capacity,
	}, nil
}

// WithReserve returns l with n tokens of its capacity kept for urgent calls. n
// must be at least 0 and below the capacity.
func (l Limit) WithReserve(n int64) (Limit, error) {
	if n < 0 || n >= l.most {
		return Limit{}, fmt.Errorf("reserve of %d: %w", n, ErrReserve)
	}
	l.tokens = l.most - n
	l.room = l.whole - n*l.cost
	return l, nil
}

// Kind returns how the limit counts.
func (l *Limit) Kind() Kind { return l.kind }

// Capacity returns the most tokens that can be taken at once, by an urgent call.
func (l *Limit) Capacity() int64 { return l.most }

// Rate returns the rate in force as tokens per nanoseconds in lowest terms. It
// differs from the one asked for only where that has no small fraction, and
// then it is the lower of the two.
func (l *Limit) Rate() (tokens, per int64) {
	return int64(l.unit / 2), l.cost / 2
}

// WithParity returns l for words that carry the given parity, 0 or 1.
func (l Limit) WithParity(p uint64) Limit {
	return l.marked(l.mark&^parityBit | p&parityBit)
}

// marked returns l with a mark.
func (l Limit) marked(mark uint64) Limit {
	l.mark, l.window.mark, l.roll.mark = mark, mark, mark
	return l
}

// of returns l for the words of a generation.
func (l Limit) of(gen uint32, parity uint64) Limit {
	return l.marked(uint64(gen)*axisStep | parity)
}

// axisStep is how far the axes of two generations in a row are apart: the fraction
// of √2, even. Its multiples keep apart from each other, and from those of the
// golden ratio (OriginOf), as far as multiples can.
const axisStep = 0x6A09E667F3BCC908

// Parity returns the parity that words of this generation carry.
func (l *Limit) Parity() uint64 { return l.mark & parityBit }

// Reads reports whether the parity of w is that of l's generation.
func (l *Limit) Reads(w uint64) bool { return (w^l.mark)&parityBit == 0 }

// Parity returns the parity of a word.
func Parity(w uint64) uint64 { return w & parityBit }

// Full returns the word of a bucket that is full at now.
func (l *Limit) Full(o Origin, now clock.Time) uint64 {
	return l.pos(o, now)
}

// pos is the doubled position of t with the generation's mark: the word of a bucket
// that is full at t. Words of the generation differ from it by even numbers.
func (l *Limit) pos(o Origin, t clock.Time) uint64 {
	return uint64(t)*l.unit + uint64(o) + l.mark
}

// Origin is where an axis has its zero. Only differences of positions matter, so
// any even number will do, as long as a word is always read with the origin it
// was written with. Every key that a slot holds in turn has another one
// ([OriginOf]): a compare-and-swap that was prepared for the key before then
// fails, because the words of two keys are never the same number.
type Origin uint64

// OriginOf returns the origin for the n-th key of a slot. The multiples of the
// golden ratio's fraction keep apart as far as multiples can: n and n+j are at
// least 2^64/(√5·j) positions from each other, over 2^50 for any j up to 7,000.
func OriginOf(n uint64) Origin { return Origin(n * 0x9E3779B97F4A7C16) }

// used is what w lacks to be full at position p, in doubled units, never below 0.
// Both have the mark of one generation.
func used(w, p uint64) int64 {
	return max(0, int64(w-p))
}
