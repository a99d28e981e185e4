package venue

import (
	"math"
	"math/bits"
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Guard returns a copy of set that stays within the venue's limits although it is
// uncertain when the venue counts a message: the delay on the way varies, and the
// clocks differ. jitter is how much longer the longest delay is than the shortest,
// plus, for windows of the venue's clock, twice what the clocks may differ by
// either way.
//
//   - A window gets Skew = jitter, or the longest skew that is valid for it where
//     that is less: such a window is then guarded for that much only. A skew that
//     is longer already stays. An Aligned window expects the venue to count a
//     message between jitter before our wall time and that time itself; since a
//     message arrives after it is decided on, give the gate a wall clock that is
//     ahead by the longest delay and the clock's error.
//   - The burst of a token bucket is lowered by the tokens that come back within
//     jitter, rounded up: messages decided on over a time t may arrive within
//     t - jitter, and C - rate·jitter + rate·t is no more than the venue's
//     C + rate·(t - jitter). At least one token above the reserve is left.
//
// A jitter of zero or less changes nothing, nor does Guard change Unlimited, Deny
// and limits that are not valid. It costs a bucket none of its rate, and a window
// of Per, when it is always full, about jitter/Per of its volume.
func Guard(set policy.Set, jitter time.Duration) policy.Set {
	out := set.Clone()
	if jitter <= 0 {
		return out
	}
	for _, p := range out {
		for i, l := range p.Limits {
			p.Limits[i] = guarded(l, jitter)
		}
	}
	return out
}

func guarded(l policy.Limit, jitter time.Duration) policy.Limit {
	if l.Validate() != nil {
		return l
	}
	switch l.Window {
	case policy.Aligned, policy.FromFirst:
		l.Skew = max(l.Skew, min(jitter, (l.Per-1)/2))
	case policy.Rolling:
		l.Skew = max(l.Skew, min(jitter, policy.MaxRolling-l.Per))
	case policy.TokenBucket:
		back := refill(l.Rate(), jitter)
		l.Burst = max(l.Capacity()-back, l.Reserve+1)
	}
	return l
}

// refill returns how many tokens come back within d, rounded up; the highest
// int64 if there are more. Both are valid: the product is below 2^126.
func refill(r policy.Rate, d time.Duration) int64 {
	hi, lo := bits.Mul64(uint64(r.Tokens), uint64(d))
	lo, carry := bits.Add64(lo, uint64(r.Per)-1, 0)
	hi += carry
	if hi >= uint64(r.Per) {
		return math.MaxInt64 // the quotient would not fit 64 bits
	}
	q, _ := bits.Div64(hi, lo, uint64(r.Per))
	return int64(min(q, math.MaxInt64))
}
