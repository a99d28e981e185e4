package clock

import (
	"sync/atomic"
	"time"
)

// Wall maps a monotonic Time to wall time. Only limits whose windows are aligned to the calendar ask it.
// Implementations are safe for concurrent use and do not allocate.
type Wall interface {
	// UnixNano returns the wall time at the monotonic time at, in nanoseconds since 1970-01-01 00:00 UTC.
	UnixNano(at Time) int64
}

const (
	// wallAge is how far at may move before the offset is measured again. It bounds how long a step of the wall
	// clock goes unseen; at 10 ms a measurement of some 300 ns costs a busy caller nothing that can be seen.
	wallAge = 10 * time.Millisecond

	// wallNoise is the change of the offset that is put down to measuring it. Staying with the old offset below it
	// keeps the mapping constant between steps, so that one Time always falls into one window.
	wallNoise = 10 * time.Microsecond
)

type systemWall struct {
	clock   Clock
	wallNow func() int64
	// measured is the at of the last measurement. A caller that finds it too far away swaps in its own at and so
	// becomes the one that measures; the others go on with the offset there is.
	measured atomic.Int64
	offset   atomic.Int64 // wall minus monotonic; written by the caller that measures, read by all
}

// SystemWall returns the wall clock of the system for Times of the [Default] clock, and for those of the other real
// clocks as long as these are near it. It is [WallOf] of Default, and makes that clock if nobody has.
func SystemWall() Wall { return WallOf(Default()) }

// WallOf returns the wall clock of the system for Times of c, which must be a real clock: for a [Manual] one use
// [NewManualWall].
//
// The mapping is wall = at + offset. The offset is measured at once and again by the first call whose at lies 10 ms
// or more from that of the last measurement, in either direction; nothing runs in the background. Changes below
// 10 microseconds are taken for noise. So after a step of the wall clock, or after the machine was suspended, the
// old mapping is in use for at most 10 ms of monotonic time (which does not pass during a suspension where the
// monotonic clock stands still); a caller that meets the measurement of another goroutine gets the old one too. A
// Time from before a step is mapped by the offset after it.
//
// A call costs about 2 ns, one in 10 ms some 300 ns. The result can go back when the wall clock is set back.
func WallOf(c Clock) Wall {
	return newSystemWall(c, func() int64 { return time.Now().UnixNano() })
}

func newSystemWall(c Clock, wallNow func() int64) *systemWall {
	w := &systemWall{clock: c, wallNow: wallNow}
	offset, _ := w.measure()
	w.offset.Store(offset)
	w.measured.Store(int64(c.Now()))
	return w
}

// UnixNano returns at plus the offset of the wall clock.
func (w *systemWall) UnixNano(at Time) int64 {
	last := w.measured.Load()
	// One unsigned comparison for at <= last-wallAge and at >= last+wallAge.
	if uint64(int64(at)-last+int64(wallAge)-1) >= uint64(2*wallAge-1) && w.measured.CompareAndSwap(last, int64(at)) {
		w.refresh()
	}
	return int64(at) + w.offset.Load()
}

func (w *systemWall) refresh() {
	offset, width := w.measure()
	change := offset - w.offset.Load()
	if change < 0 {
		change = -change
	}
	if change > int64(wallNoise)+width {
		w.offset.Store(offset)
	}
}

// measure returns the offset of the wall clock to the monotonic one and the width of the bracket it was found in. Of
// three brackets it takes the tightest: a goroutine that is preempted between two readings makes a wide one.
func (w *systemWall) measure() (offset, width int64) {
	for i := range 3 {
		before := int64(w.clock.Now())
		wall := w.wallNow()
		after := int64(w.clock.Now())
		if d := after - before; i == 0 || d < width {
			offset, width = wall-(before+d/2), d
		}
	}
	return offset, width
}

// ManualWall is a wall clock that lies a settable offset from the monotonic time: for tests and for replay. It is
// safe for concurrent use. The zero value has offset 0.
type ManualWall struct {
	offset atomic.Int64 // written by SetOffset, read by UnixNano
}

// NewManualWall returns a wall clock at the given offset: wall = at + offset.
func NewManualWall(offset time.Duration) *ManualWall {
	w := new(ManualWall)
	w.SetOffset(offset)
	return w
}

// SetOffset changes the offset, as a step of the wall clock does.
func (w *ManualWall) SetOffset(offset time.Duration) { w.offset.Store(int64(offset)) }

// UnixNano returns at plus the offset, saturating at the ends of the int64 range.
func (w *ManualWall) UnixNano(at Time) int64 { return addSaturating(int64(at), w.offset.Load()) }
