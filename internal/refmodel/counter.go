package refmodel

import (
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// counter is one limit of one key, counted in one way. All but of and to are
// about the time that it was moved on to.
type counter interface {
	of() Limit

	// to moves on to t, which is not before the last one.
	to(t clock.Time)

	// wait is the least wait, after or longer, after which a call of n tokens
	// passes, if nothing else is counted until then. n is within the room.
	wait(n int64, urgent bool, after time.Duration) time.Duration

	// take counts n tokens, which pass and are at least 1, and returns what refund
	// needs of it.
	take(n int64) mark

	charge(n int64)         // counts n tokens, at least 1, whatever is left
	credit(n int64)         // gives n tokens back, down to nothing used
	refund(m mark)          // gives back a take; one of another counter is nothing
	used() *big.Rat         // exact
	left(urgent bool) int64 // whole tokens that pass now
	reset() time.Duration   // the least wait after which nothing is counted

	// adopt puts l into force and keeps what is counted as it is, or reports that
	// this counter cannot.
	adopt(l Limit) bool
}

// mark is what a counter remembers of a take: each kind has its own.
type mark any

// newCounter returns a counter of l that counts nothing.
func newCounter(l Limit) counter {
	l = l.valid()
	switch l.Window {
	case policy.Aligned:
		return &aligned{limit: l}
	case policy.FromFirst:
		return &fromFirst{limit: l}
	case policy.Rolling:
		return &rolling{limit: l}
	}
	return newLevel(l)
}

// since is the time from one time to another that is not before it.
func since(from, to clock.Time) time.Duration { return saturate(between(from, to)) }
