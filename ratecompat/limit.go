package ratecompat

import (
	"math"
	"time"

	"github.com/tickgate/tickgate/bucket"
)

// Limit is a rate in events per second. Zero, a negative rate and NaN allow no
// more events than the burst, once. Rates above 2e9 per second count as 2e9;
// [Inf] and above allow everything.
type Limit float64

// Inf is the rate without a limit: every event is allowed, whatever the burst.
const Inf = Limit(math.MaxFloat64)

// InfDuration is the delay of a reservation that cannot be fulfilled.
const InfDuration = time.Duration(math.MaxInt64)

// Every returns the rate of one event in each interval. An interval of zero or
// less is [Inf].
func Every(interval time.Duration) Limit {
	if interval <= 0 {
		return Inf
	}
	return Limit(1 / interval.Seconds())
}

const (
	// maxTokens is the largest numerator that is tried for a rate: the largest that
	// package bucket keeps as it is.
	maxTokens = 63

	// near is how far a rate may be from a fraction to be taken for it: some four
	// units in the last place of a float64. Every(d) has passed three roundings, and
	// is meant to be one token in d.
	near = 1.0 / (1 << 50)

	// fastest is the highest rate of a bucket, events a second.
	fastest = 2e9

	// year is the longest a bucket may take to refill, ns.
	year = int64(365 * 24 * time.Hour)
)

// fraction returns l as tokens per nanoseconds: the fraction with the smallest
// numerator that l cannot be told from, else the fastest one with a numerator of
// at most [maxTokens] that is not faster than l. It returns 0 tokens for a rate
// that never gives one.
func (l Limit) fraction() (tokens, per int64) {
	switch {
	case !(l > 0): // NaN as well
		return 0, 1
	case l >= fastest:
		return 2, 1
	}
	ns := 1e9 / float64(l) // between two tokens, at least 0.5
	if ns >= 1<<62 {
		return 0, 1
	}
	// From 2^49 on every float64 is within near of a whole number, so the loop ends
	// at q = 1, and below it nothing here overflows.
	tokens, per = 1, int64(math.Ceil(ns))
	for q := int64(1); q <= maxTokens; q++ {
		c := ns * float64(q)
		if n := math.Round(c); math.Abs(c-n) <= n*near {
			return q, int64(n)
		}
		if n := int64(math.Ceil(c)); n*tokens < per*q {
			tokens, per = q, n
		}
	}
	return tokens, per
}

// compile returns the bucket for a rate and a capacity of at least 1. A bucket
// that would take over a year to refill gets the largest capacity that does not.
// still says that it is not to refill at all: its time has to stand. Then any rate
// will do, and that of the generation before, if there is one, makes for a
// conversion without rounding.
func compile(l Limit, capacity int64, before *bucket.Limit) (b bucket.Limit, still bool) {
	if tokens, per := l.fraction(); tokens > 0 && l < Inf {
		if most := year * tokens / per; most > 0 {
			if b, err := bucket.New(tokens, per, min(capacity, most)); err == nil {
				return b, false
			}
		}
	}
	if before != nil {
		tokens, per := before.Rate()
		if b, err := bucket.New(tokens, per, capacity); err == nil {
			return b, true
		}
	}
	capacity = min(capacity, year) // 3e16 tokens
	per := int64(1)
	if before != nil {
		per = year / capacity // the finest, for the fractions that there may be
	}
	b, _ = bucket.New(1, per, capacity)
	return b, true
}
