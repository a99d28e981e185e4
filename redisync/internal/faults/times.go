//go:build linux

package faults

import (
	"math/bits"
	"time"

	"golang.org/x/sys/unix"
)

// A decision's time is counted in steps of an eighth of a power of two: a quantile is
// right to 12 %.
const (
	timeBits  = 3
	timeSteps = (64 - timeBits) << timeBits
)

func timeStep(ns int64) int {
	if ns < 1<<timeBits {
		return int(max(ns, 0))
	}
	shift := bits.Len64(uint64(ns)) - timeBits - 1
	return shift<<timeBits + int(ns>>shift)
}

// stepTime is the least time of a step.
func stepTime(step int) int64 {
	if step < 2<<timeBits {
		return int64(step)
	}
	shift := step>>timeBits - 1
	return int64(step-shift<<timeBits) << shift
}

// Quantile returns the time that a part q of the decisions of some logs did not
// exceed, by at most an eighth too long; 0 if there were none.
func Quantile(q float64, logs ...*Log) time.Duration {
	var steps [timeSteps]int64
	var all int64
	for _, l := range logs {
		for i := range steps {
			n := l.head.times[i].Load()
			steps[i] += n
			all += n
		}
	}
	rank, seen := int64(q*float64(all)), int64(0)
	for i, n := range steps {
		if seen += n; seen > 0 && seen >= rank {
			return time.Duration(stepTime(i+1) - 1)
		}
	}
	return 0
}

// stopwatch reads the machine's monotonic clock, which all processes share, without
// a system call: the runtime reads the same clock, but counts from elsewhere.
type stopwatch struct {
	base   time.Time
	offset int64
}

// newStopwatch finds the offset between both, to the width of the tightest of some
// brackets: a fraction of a microsecond.
func newStopwatch() stopwatch {
	s := stopwatch{base: time.Now()}
	best := time.Duration(1 << 62)
	for range 64 {
		before := time.Since(s.base)
		ns := monotonic()
		after := time.Since(s.base)
		if w := after - before; w < best {
			best, s.offset = w, ns-int64(before+w/2)
		}
	}
	return s
}

// now is the time in ns.
func (s stopwatch) now() int64 { return int64(time.Since(s.base)) + s.offset }

func monotonic() int64 { return readClock(unix.CLOCK_MONOTONIC) }

func readClock(which int32) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(which, &t); err != nil {
		panic("faults: " + err.Error())
	}
	return t.Nano()
}

// Drift measures by how much the machine's wall clock, which Redis counts by, runs
// faster than the monotonic one, which histories are checked by: what it gains refills
// more than the check allows for.
type Drift struct{ wall, mono int64 }

// NewDrift begins to measure.
func NewDrift() Drift { return Drift{readClock(unix.CLOCK_REALTIME), monotonic()} }

// Gained returns by how much the wall clock has gained since, 0 if it lost.
func (d Drift) Gained() time.Duration {
	now := NewDrift()
	return time.Duration(max(0, (now.wall-d.wall)-(now.mono-d.mono)))
}
