package redisync

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// breaker keeps strict calls from waiting for a Redis that does not answer: after five
// failures in a row, and no success between, one call is let through as a probe now and
// then, with the waits of a lane that is down.
type breaker struct {
	mu      sync.Mutex
	rand    *rand.Rand
	fails   int
	next    clock.Time // broken: no probe before
	probing bool
}

const breaksAfter = 5

func newBreaker(r *rand.Rand) *breaker { return &breaker{rand: r} }

// enter reports whether a call may be sent at now. leave must follow.
func (b *breaker) enter(now clock.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fails < breaksAfter:
		return true
	case b.probing || now < b.next:
		return false
	}
	b.probing = true
	return true
}

// leave notes how a call ended: alive if Redis answered, moot if nobody waited for it any
// more, or not for long, so that a failure tells nothing.
func (b *breaker) leave(now clock.Time, alive, moot bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case alive:
		b.fails, b.probing = 0, false
	case moot:
		b.probing = false
	default:
		b.probing = false
		if b.fails++; b.fails >= breaksAfter {
			b.next = now.Add(backoff(b.fails-breaksAfter, b.rand.Float64()))
		}
	}
}

// broken reports whether calls are refused, and how long from now on at least.
func (b *breaker) broken(now clock.Time) (bool, time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fails < breaksAfter {
		return false, 0
	}
	return true, max(0, b.next.Sub(now))
}
