package httplimit

import (
	"math"
	"math/bits"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// seconds rounds a time up to whole seconds: a caller that comes back after it must
// not be early.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return s
}

// retrySeconds is the value of Retry-After: at least 1, and 0 if there is none, for
// what never passes.
func retrySeconds(d time.Duration) int64 {
	if d == tickgate.Never {
		return 0
	}
	return max(1, seconds(d))
}

// quota is the most tokens that an ordinary request can find in a limit.
func quota(l *policy.Limit) int64 { return l.Capacity() - l.Reserve }

// span is how long it takes at a limit's rate until n tokens are back, rounded up. n
// is at most the capacity, so the result is at most policy.MaxPer.
func span(l *policy.Limit, n int64) time.Duration {
	hi, lo := bits.Mul64(uint64(n), uint64(l.Per))
	lo, carry := bits.Add64(lo, uint64(l.Tokens-1), 0)
	hi += carry
	if l.Tokens <= 0 || hi >= uint64(l.Tokens) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(l.Tokens))
	return time.Duration(min(q, math.MaxInt64))
}

// windowSeconds is the time for which the quota is given: the period, and for a
// bucket with a burst of its own the time in which the quota comes back. Any other
// number beside the quota would tell another rate than the limit's.
func windowSeconds(l *policy.Limit) int64 {
	if l.Window == policy.TokenBucket {
		return max(1, seconds(span(l, quota(l))))
	}
	return max(1, seconds(l.Per))
}

// effectiveSeconds is the time for which the remaining tokens of a decision are told,
// and whether one can be told at all. retry is the decision's Retry-After.
//
// A caller that spreads the remaining tokens evenly over it must not go faster than
// the rate. So the time is that in which the rate gives as many tokens; of a window
// that ends, what is left of it, after which there is a whole new quota. When nothing
// is left, it is the time until something is. Retry-After is never earlier; where a
// costly request was denied though tokens are left, and they would last for longer
// than that, no time is told.
func effectiveSeconds(l *policy.Limit, d *tickgate.Decision, retry int64) (int64, bool) {
	ends := l.Window == policy.Aligned || l.Window == policy.FromFirst
	switch {
	case l.Window == policy.Deny || l.Window == policy.Unlimited:
		return 0, false
	case !d.Allowed && d.Remaining > 0 && !ends:
		return retry, retry > 0 && seconds(span(l, d.Remaining)) <= retry
	case !d.Allowed:
		return retry, retry > 0
	case ends && d.ResetAfter == 0: // nothing is used: the window has not begun
		return windowSeconds(l), true
	case ends:
		return max(1, seconds(d.ResetAfter)), true
	case d.Remaining > 0:
		return max(1, seconds(span(l, min(d.Remaining, quota(l))))), true
	case l.Window == policy.Rolling:
		return max(1, seconds(d.ResetAfter)), true
	}
	return max(1, seconds(d.ResetAfter-span(l, quota(l)-1))), true
}
