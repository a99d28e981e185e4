package refmodel

import (
	"fmt"
	"math/big"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Limit is Tokens per Per nanoseconds, counted the way Window says. Tokens, Per
// and Capacity are at least 1.
type Limit struct {
	Name   string // where there are several; names differ
	Tokens int64
	Per    int64

	// Capacity is the most tokens that pass at once. Other windows than a bucket
	// have a capacity of Tokens: there it is that, or 0, which means that.
	Capacity int64

	// Window is TokenBucket (the zero value), Aligned, FromFirst or Rolling.
	Window policy.Window

	// Reserve is the tokens that only urgent calls may take: 0 or more, and less
	// than the capacity. Other calls see a capacity that is smaller by it.
	Reserve int64

	// Skew is how uncertain it is when a message counts, 0 or more; always 0 for a
	// bucket. For Aligned and FromFirst it is below half of Per.
	Skew time.Duration

	// Wall is the wall clock that Aligned looks at, in nanoseconds: what it reads at
	// a time, as far as is known when that is the key's time. It may step. nil reads
	// the time itself.
	Wall func(clock.Time) int64

	// Most is the most tokens that may count as used, where a charge above it is
	// to be lost (Rolling loses the oldest tokens for it). nil is no bound for a
	// bucket; windows saturate at math.MaxInt64.
	Most *big.Rat
}

// valid returns the limit with its capacity filled in. It panics if the limit is
// none.
func (l Limit) valid() Limit {
	fault := func(what string) { panic(fmt.Sprintf("refmodel: %+v: %s", l, what)) }
	if l.Window != policy.TokenBucket {
		if l.Capacity == 0 {
			l.Capacity = l.Tokens
		}
		if l.Capacity != l.Tokens {
			fault("only a token bucket has a capacity other than its tokens")
		}
	}
	if l.Tokens < 1 || l.Per < 1 || l.Capacity < 1 {
		fault("tokens, period and capacity must be at least 1")
	}
	if l.Reserve < 0 || l.Reserve >= l.Capacity {
		fault("the reserve must be at least 0 and less than the capacity")
	}
	if l.Skew < 0 {
		fault("the skew must be at least 0")
	}
	switch l.Window {
	case policy.TokenBucket:
		if l.Skew != 0 {
			fault("a token bucket has no skew")
		}
	case policy.Aligned, policy.FromFirst:
		if int64(l.Skew) >= l.Per-int64(l.Skew) {
			fault("twice the skew must be less than the period")
		}
	case policy.Rolling:
	default:
		fault("the window must be token-bucket, aligned, from-first or rolling")
	}
	return l
}

// room is the capacity that a call sees.
func (l Limit) room(urgent bool) int64 {
	if urgent {
		return l.Capacity
	}
	return l.Capacity - l.Reserve
}

// most is the most that a window may count.
func (l Limit) most() int64 {
	if l.Most == nil {
		return int64(Never)
	}
	return int64(saturate(new(big.Int).Quo(l.Most.Num(), l.Most.Denom())))
}

// charged is a count of used after a charge of n whatever is left: at most most,
// and not less than before.
func (l Limit) charged(used, n int64) int64 {
	if room := l.most() - used; n > room {
		return max(used, l.most())
	}
	return used + n
}
