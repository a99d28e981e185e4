package refmodel

import (
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// Decision is the answer to a take.
type Decision struct {
	Allowed   bool
	TooCostly bool // n is above a capacity that the call sees, or negative: it never passes

	// Limit is the name of the limit that denies longest, or when allowed of the
	// one with the fewest tokens left; among equals the first.
	Limit string

	Remaining  int64         // whole tokens left in that limit for such a call
	RetryAfter time.Duration // 0 when allowed; Never if it never passes
	ResetAfter time.Duration // until that limit counts nothing any more
	At         clock.Time    // the key's time that it was decided at

	// Receipt is what Refund takes, of an allowed take of at least one token.
	Receipt Receipt
}

// Receipt proves a take. It is good for one refund, by whoever made the take.
type Receipt struct{ marks map[string]mark }

// Bucket is one limit of one key, of any window. The zero Bucket is of no use; see
// [New]. It is safe for concurrent use.
type Bucket struct{ m *Multi }

// New returns a token bucket, full, of tokens per per nanoseconds with a capacity of
// capacity tokens. It panics if one of them is below 1.
func New(tokens, per, capacity int64) *Bucket {
	return NewBucket(Limit{Tokens: tokens, Per: per, Capacity: capacity})
}

// NewBucket is New for a Limit.
func NewBucket(l Limit) *Bucket { return &Bucket{NewMulti(l)} }

// SetBack makes the bucket follow clocks that are set back; see [StepBack]. To be
// called before the first use.
func (b *Bucket) SetBack() *Bucket {
	b.m.SetBack = true
	return b
}

// TakeAt takes n tokens at now, if they are there. n == 0 looks without taking.
func (b *Bucket) TakeAt(now clock.Time, n int64) Decision { return b.m.TakeAt(now, n) }

// TakeUrgentAt is [Multi.TakeUrgentAt].
func (b *Bucket) TakeUrgentAt(now clock.Time, n int64) Decision { return b.m.TakeUrgentAt(now, n) }

// Peek is TakeAt of nothing.
func (b *Bucket) Peek(now clock.Time) Decision { return b.m.TakeAt(now, 0) }

// Charge counts n tokens as used at now, whatever is left.
func (b *Bucket) Charge(now clock.Time, n int64) { b.m.Charge(now, n) }

// Credit gives n tokens back at now, down to nothing used.
func (b *Bucket) Credit(now clock.Time, n int64) { b.m.Credit(now, n) }

// Refund is [Multi.Refund].
func (b *Bucket) Refund(now clock.Time, r Receipt) { b.m.Refund(now, r) }

// Apply puts another rate and capacity of a token bucket into force at now. What
// is used stays used, so the tokens left move by the change in capacity.
func (b *Bucket) Apply(now clock.Time, tokens, per, capacity int64) {
	b.ApplyLimit(now, Limit{Tokens: tokens, Per: per, Capacity: capacity})
}

// ApplyLimit is [Multi.Apply] for one limit. Its name must be the one before.
func (b *Bucket) ApplyLimit(now clock.Time, l Limit) { b.m.Apply(now, l) }

// Used returns the exact number of tokens used at now.
func (b *Bucket) Used(now clock.Time) *big.Rat { return b.m.Used(now, b.m.first()) }
