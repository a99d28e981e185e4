package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// judge sees every admission of a key and holds it against the bound that the most
// generous of its policies gives: capacity + rate × time.
//
// It is told after the call, so in another order than they were decided in, and later:
// by the longest call so far, as much as that refills may seem too much.
type judge struct {
	name     string
	rate     float64 // tokens a nanosecond
	capacity float64
	slack    float64 // tokens beside

	mu      sync.Mutex
	full    float64 // the time at which the bucket is full again, on the clock's axis
	longest clock.Time
	begun   clock.Time

	admitted, denied int64
	closest          float64 // most that was ever used, of what is allowed
}

func newJudge(name string, tokens int64, per time.Duration, capacity int64) *judge {
	return &judge{name: name, rate: float64(tokens) / float64(per), capacity: float64(capacity)}
}

// lateBy says that what is seen may have been seen so much later than it was admitted, and
// the next one not.
func (j *judge) lateBy(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.slack = max(j.slack, float64(d)*j.rate)
}

// sees counts a call that began and ended at times of the axis.
func (j *judge) sees(began, ended clock.Time, n int64, allowed bool, f *faults) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.begun == 0 {
		j.begun = began
	}
	j.longest = max(j.longest, ended-began)
	if !allowed {
		j.denied++
		return
	}
	j.admitted += n
	at := float64(ended - j.begun)
	j.full = max(j.full, at) + float64(n)/j.rate
	used := (j.full - at) * j.rate
	allowedNow := j.capacity + j.slack + float64(j.longest)*j.rate + 1e-6
	j.closest = max(j.closest, used/j.capacity)
	if used > allowedNow {
		f.add("%s: %.3f tokens admitted within a span that allows %.3f", j.name, used, allowedNow)
		j.full = at + j.capacity/j.rate // once for each excess
	}
}

// forget begins anew: the key may be full from now on.
func (j *judge) forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.full = 0
}

// book counts what was taken from a key that hardly refills, and given back.
type book struct {
	mu   sync.Mutex
	kept int64
	loss float64 // what gifts may have given less, tokens
}

func (b *book) add(n int64, loss float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept += n
	b.loss += loss
}

// holds checks that used is what the book says, but for refill that is at most so many
// tokens, and what gifts may have lost: rolledBack tokens are those of roll-backs that
// were lost.
func (b *book) holds(used int64, refill, rolledBack float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	loss := b.loss + rolledBack
	switch {
	case float64(used) < float64(b.kept)-refill-1:
		return fmt.Errorf("%d tokens are used of the %d that were kept, and at most %.1f came back", used, b.kept, refill)
	case float64(used) > float64(b.kept)+loss+1:
		return fmt.Errorf("%d tokens are used, but %d were kept, and at most %.1f lost", used, b.kept, loss)
	}
	return nil
}
