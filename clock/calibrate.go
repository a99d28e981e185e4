package clock

import (
	"fmt"
	"time"
)

const (
	// calibrationSleep is the baseline of a measured frequency. With brackets of 100 ns at both ends it is right to
	// 10 ppm at worst; a longer one would keep the first caller waiting for what the refinement does better. What
	// is left to the 20 ms a calibration may take is for a timer that fires late.
	calibrationSleep = 12 * time.Millisecond
	// verificationSleep is enough to see that a frequency told by the firmware is not absurd.
	verificationSleep = 2 * time.Millisecond

	// bracketTries is how often a sample is tried for: some 3 microseconds in all.
	bracketTries = 32
	// maxCalibrationWidth is the widest bracket a calibration accepts, worth 400 ppm over its baseline.
	maxCalibrationWidth = 5 * time.Microsecond

	minFrequency = 0.99e6 // Hz; rateShift has room for 1 MHz and an error
	maxFrequency = 64e9   // Hz; above it is nonsense
)

// sample pairs a reading of the counter with the time of the reference clock, known to half the width.
type sample struct {
	c     uint64
	t     Time
	width time.Duration
}

// takeSample reads the reference, the counter and the reference again, and keeps the tightest of several such
// brackets. Whatever interrupts the goroutine makes a bracket wide and so drops out.
func takeSample(counter func() uint64, ref Clock) sample {
	var best sample
	before := ref.Now()
	for i := range bracketTries {
		c := counter()
		after := ref.Now()
		if w := after.Sub(before); i == 0 || w < best.width {
			best = sample{c: c, t: before.Add(w / 2), width: w}
		}
		before = after
	}
	return best
}

// calibrate returns the nanoseconds per tick and a last sample to start from. With told, a frequency in Hz or 0, it
// only verifies that.
func calibrate(counter func() uint64, ref Clock, told uint64, sleep func(time.Duration)) (float64, sample, error) {
	wait := calibrationSleep
	if told != 0 {
		wait = verificationSleep
	}
	first := takeSample(counter, ref)
	sleep(wait)
	last := takeSample(counter, ref)

	if w := max(first.width, last.width); w > maxCalibrationWidth {
		return 0, last, fmt.Errorf("clock: no TSC: reading the runtime clock takes %v, too long to calibrate by; use Runtime", w)
	}
	ticks, ns := int64(last.c-first.c), last.t.Sub(first.t)
	if ticks <= 0 || ns <= 0 {
		return 0, last, fmt.Errorf("clock: no TSC: the counter moved by %d ticks in %v; use Runtime", ticks, ns)
	}
	measured := float64(ticks) / float64(ns) * 1e9
	if measured < minFrequency || measured > maxFrequency {
		return 0, last, fmt.Errorf("clock: no TSC: its frequency of %.0f Hz is out of range: need %.0f to %.0f; use Runtime",
			measured, float64(minFrequency), float64(maxFrequency))
	}
	if told == 0 {
		return 1e9 / measured, last, nil
	}
	if ratio := float64(told) / measured; ratio < 0.99 || ratio > 1.01 {
		return 0, last, fmt.Errorf("clock: no TSC: the firmware says %d Hz, measured are %.0f; use Runtime", told, measured)
	}
	return 1e9 / float64(told), last, nil
}

// Drift measures how fast c runs against the runtime's clock, in parts per million, positive when c is the faster
// one. It samples both, sleeps for over (at least a millisecond) and samples again; each end is known to some 50 ns,
// which is 0.1 ppm of a second. For a clock that does not move it returns -1e6.
func Drift(c Clock, over time.Duration) float64 {
	read := func() uint64 { return uint64(c.Now()) }
	first := takeSample(read, runtimeOrigin())
	time.Sleep(max(over, time.Millisecond))
	last := takeSample(read, runtimeOrigin())
	ref := last.t.Sub(first.t)
	return float64(int64(last.c-first.c)-int64(ref)) / float64(ref) * 1e6
}
