package main

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// warped is the gates' clock: the machine's, which jumps when it is told to, and stands
// still at the end.
//
// Callers that hold calm see no jump. Axis counts how far it went forward in all, and
// 10 s for each time that it was set back: no key's time goes further, whatever
// its callers' clock did.
type warped struct {
	real   clock.Clock
	offset atomic.Int64 // written by jump
	axis   atomic.Int64 // what axis has more than the real clock, likewise
	frozen atomic.Int64 // the time at which it stands; 0: it runs
	newest atomic.Int64 // the latest time that it showed before it was set back
	calm   sync.RWMutex
}

// gain is what a key may gain at most where a clock is set back and runs on.
const gain = 10 * time.Second

func newWarped() *warped { return &warped{real: clock.Default()} }

// Now implements [clock.Clock].
func (w *warped) Now() clock.Time {
	if at := w.frozen.Load(); at != 0 {
		return clock.Time(at)
	}
	return w.real.Now() + clock.Time(w.offset.Load())
}

// Axis is the time that refills count by, at most.
func (w *warped) Axis() clock.Time { return w.real.Now() + clock.Time(w.axis.Load()) }

// jump sets the clock forth, or back.
func (w *warped) jump(by time.Duration) {
	w.calm.Lock()
	defer w.calm.Unlock()
	if by > 0 {
		w.axis.Add(int64(by))
	} else {
		w.newest.Store(max(w.newest.Load(), int64(w.Now())))
		w.axis.Add(int64(gain))
	}
	w.offset.Add(int64(by))
}

// behind reports whether it was set back and is not yet where it was.
func (w *warped) behind() bool { return int64(w.Now()) <= w.newest.Load() }

// freeze lets the clock stand still.
func (w *warped) freeze() { w.frozen.Store(int64(w.Now())) }
