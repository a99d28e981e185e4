package clock

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The range of steps that NewCoarse takes. Below the smallest the runtime's timers cannot keep the pace and the
// ticker would take a processor for itself; above the largest a clock is too late for any limit.
const (
	MinCoarseStep = 100 * time.Microsecond
	MaxCoarseStep = time.Second
)

// Coarse is a clock whose Now is one atomic load, for callers that make millions of decisions per second and can
// bear an error. A background goroutine looks at the runtime's clock once per step.
//
// Now is never ahead of [Runtime] and never goes back. It lags by at most one step plus the time the scheduler takes
// to run the goroutine, usually well under a millisecond, but unbounded on a machine that is overloaded. Use the
// TSC where that matters.
type Coarse struct {
	now  atomic.Int64 // written by run only, read by Now
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// NewCoarse starts a clock that moves every step, which must lie between [MinCoarseStep] and [MaxCoarseStep]. Close
// it when it is no longer needed.
func NewCoarse(step time.Duration) (*Coarse, error) {
	if step < MinCoarseStep || step > MaxCoarseStep {
		return nil, fmt.Errorf("clock: coarse step %v is out of range: use %v to %v", step, MinCoarseStep, MaxCoarseStep)
	}
	ticker := time.NewTicker(step)
	return startCoarse(runtimeOrigin(), ticker.C, ticker.Stop), nil
}

// startCoarse is NewCoarse with the clock and the ticks given.
func startCoarse(src Clock, ticks <-chan time.Time, release func()) *Coarse {
	c := &Coarse{stop: make(chan struct{}), done: make(chan struct{})}
	c.now.Store(int64(src.Now()))
	go c.run(src, ticks, release)
	return c
}

func (c *Coarse) run(src Clock, ticks <-chan time.Time, release func()) {
	defer close(c.done)
	defer release()
	for {
		select {
		case <-c.stop:
			return
		case <-ticks:
			// The only writer, so comparing before storing is enough to never go back, whatever src does.
			if t := int64(src.Now()); t > c.now.Load() {
				c.now.Store(t)
			}
		}
	}
}

// Now returns the time of the last step.
func (c *Coarse) Now() Time { return Time(c.now.Load()) }

// Close stops the background goroutine and returns when it has ended. Now stays usable and stands still. It may be
// called more than once and from several goroutines; the error is always nil.
func (c *Coarse) Close() error {
	c.once.Do(func() { close(c.stop) })
	<-c.done
	return nil
}
