package redisync

import (
	"time"

	"github.com/tickgate/tickgate/clock"
)

// throttle holds the calls of this process down to a number a second.
type throttle struct {
	rate int64 // a second
	most int64 // at once
	left int64
	part int64 // billionths of a call that are not in left
	at   clock.Time
}

// newThrottle allows rate calls a second and what comes in two ticks at once, so that
// a loop that is woken every tick misses none.
func newThrottle(rate int64, tick time.Duration, now clock.Time) throttle {
	most := max(2*chunk, rate*int64(2*tick)/int64(time.Second))
	return throttle{rate: rate, most: most, left: most, at: now}
}

// advance credits the time since the last call.
func (t *throttle) advance(now clock.Time) {
	dt := min(now.Sub(t.at), time.Second)
	if dt <= 0 {
		return
	}
	t.at = now
	t.part += int64(dt) * t.rate // below 2^63: a rate is at most 10^9
	t.left = min(t.most, t.left+t.part/int64(time.Second))
	t.part %= int64(time.Second)
}
