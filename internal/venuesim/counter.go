package venuesim

import "math"

// Never is a time that does not come: the largest int64.
const Never int64 = math.MaxInt64

// counter is the count of one limit. Calls come with times that do not go back,
// and each may bring the count up to its time. Costs n are above zero.
type counter interface {
	// used returns what counts at a time, in tokens, rounded up.
	used(at int64) int64
	// fits reports whether n more tokens are within the limit.
	fits(at, n int64) bool
	// add counts n tokens, whether they fit or not.
	add(at, n int64)
	// earliest returns the first time from at on when n tokens fit if nothing
	// else is counted until then, or Never.
	earliest(at, n int64) int64
	// credit takes back up to n tokens of what counts now, never below zero, and
	// returns how many.
	credit(at, n int64) int64
	// most returns the largest sum of tokens that the limit accepts in the span
	// [start, end), from an empty count; Never if it does not fit an int64.
	most(start, end int64) int64
}

// newCounter returns an empty count for a valid limit.
func newCounter(l Limit) counter {
	switch l.Kind {
	case TokenBucket:
		return newBucket(l)
	case Decaying:
		return newDecaying(l)
	case Aligned:
		return &aligned{tokens: l.Tokens, per: int64(l.Per), phase: int64(l.Phase)}
	case FromFirst:
		return &fromFirst{tokens: l.Tokens, per: int64(l.Per)}
	case Rolling:
		return &rolling{tokens: l.Tokens, per: int64(l.Per)}
	case Unlimited:
		return constant{pass: true}
	}
	return constant{}
}

// plus returns a+b for b >= 0, Never where that is beyond int64.
func plus(a, b int64) int64 {
	if a > Never-b {
		return Never
	}
	return a + b
}

// times returns a·b for both >= 0, Never where that is beyond int64.
func times(a, b int64) int64 {
	if a != 0 && b > Never/a {
		return Never
	}
	return a * b
}
