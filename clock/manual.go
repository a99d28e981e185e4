package clock

import (
	"sync/atomic"
	"time"
)

// Manual is a clock that moves only when told to: for tests and for replaying recorded time. It is safe for
// concurrent use. The zero value stands at Time 0.
type Manual struct {
	now atomic.Int64 // written by Set and Advance, read by Now
}

// NewManual returns a clock that stands at start.
func NewManual(start Time) *Manual {
	m := new(Manual)
	m.Set(start)
	return m
}

// Now returns the time last set. It is one atomic load.
func (m *Manual) Now() Time { return Time(m.now.Load()) }

// Set moves the clock to t, which may be in its past: what a caller does with a clock that steps back can be tested
// only with one that does.
func (m *Manual) Set(t Time) { m.now.Store(int64(t)) }

// Advance moves the clock by d, which may be negative, and returns the new time. Concurrent advances add up; the
// time saturates at the ends of the int64 range.
func (m *Manual) Advance(d time.Duration) Time {
	for {
		old := m.now.Load()
		next := addSaturating(old, int64(d))
		// The swap is where an advance takes place; a loser starts again from the winner's time, so no advance is
		// lost.
		if m.now.CompareAndSwap(old, next) {
			return Time(next)
		}
	}
}
