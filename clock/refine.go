package clock

import "time"

const (
	// The line of a segment grows from the first span to the last as the rate becomes known.
	firstSpan = 100 * time.Millisecond
	lastSpan  = 8 * time.Second

	// maxSlew is how much faster or slower than its estimated rate the clock may run to meet the reference.
	maxSlew = 500e-6
	// maxDeviation bounds the estimated rate around the calibrated one: what a time daemon may do to the kernel's
	// clock (500 ppm to either side) and what a calibration may be wrong by.
	maxDeviation = 1500e-6

	// tailLoss makes the tail of every segment as slow as the slowest line there can be.
	tailLoss = maxDeviation + maxSlew

	// startLead is how far ahead a segment starts when the line of the last one is over.
	startLead = time.Millisecond

	// A sample wider than maxSampleWidth is tried again soon, at most maxRetries times.
	maxSampleWidth = 5 * time.Microsecond
	retryAfter     = 5 * time.Millisecond
	maxRetries     = 4

	// surprise is an offset that a settled rate does not explain: the reference has changed its own rate.
	surprise = 20 * time.Microsecond

	// An offset above maxOffset, which would take 100 s to slew away, is kept. No drift within a line comes near it:
	// the counter or the reference stood still or jumped, as in a suspension, or the process was stopped for long.
	maxOffset = 50 * time.Millisecond

	history = 8 // samples kept: with the last span a baseline of about a minute
)

// refiner decides the next segment from samples of counter and reference. It holds no clock of its own and is not
// safe for concurrent use.
type refiner struct {
	nominal float64 // ns per tick as calibrated
	rate    float64 // ns per tick as estimated now
	span    time.Duration
	shift   time.Duration // what jumps have put between the reference and this clock
	past    []sample      // oldest first, shifted; never empty
	retries int

	offset      time.Duration // this clock minus the reference, at the last sample
	drift       float64       // change of offset over driftOver, as a ratio
	driftOver   time.Duration
	refinements uint64
	jumps       uint64
}

// newRefiner returns a refiner and its first segment.
func newRefiner(nsPerTick float64, s sample) (*refiner, *segment) {
	r := &refiner{nominal: nsPerTick, rate: nsPerTick, span: firstSpan, past: []sample{s}}
	return r, r.segment(nil, s.c, s.t, scaled(nsPerTick))
}

// step returns the segment to publish after seg, nil for none, and how long to wait until the next sample.
func (r *refiner) step(seg *segment, s sample) (*segment, time.Duration) {
	s.t = s.t.Add(r.shift)
	last := r.past[len(r.past)-1]
	if int64(s.c-last.c) <= 0 {
		return r.restart(seg, s)
	}
	if begun := int64(s.c - seg.c0); begun <= 0 {
		// One segment at a time: the argument that time never goes back needs the start of the last to have passed.
		return nil, r.duration(uint64(-begun)) + startLead
	}
	if s.width > maxSampleWidth && r.retries < maxRetries {
		r.retries++
		return nil, retryAfter
	}
	r.retries = 0

	offset, passed := seg.at(s.c).Sub(s.t), s.t.Sub(last.t)
	if abs(offset) > maxOffset {
		// The start of this clock is arbitrary, so it may stay where it is: it must not go back to the reference,
		// and is not wanted to step forward to it. Estimates across the jump mean nothing.
		r.jumps++
		r.shift += offset
		s.t = s.t.Add(offset)
		r.past, r.span = append(r.past[:0], s), firstSpan
		r.offset, r.drift, r.driftOver = 0, 0, 0
		return r.publish(seg, s)
	}
	r.drift, r.driftOver = float64(offset-r.offset)/float64(passed), passed
	r.offset = offset
	r.learn(s)
	if abs(offset) > surprise+s.width {
		r.span = max(r.span/4, firstSpan)
		r.forget()
	} else if r.refinements > 0 {
		r.span = min(r.span*2, lastSpan)
	}
	r.estimate()
	return r.publish(seg, s)
}

// restart begins anew after the counter was set back. There is no way to not let the clock stand still, or go back,
// until this is seen; from here on it goes on from where it would have been.
func (r *refiner) restart(seg *segment, s sample) (*segment, time.Duration) {
	r.jumps++
	r.past, r.span, r.retries = append(r.past[:0], s), firstSpan, 0
	r.offset, r.drift, r.driftOver = 0, 0, 0
	t := max(s.t, seg.at(s.c))
	return r.segment(nil, s.c, t, scaled(r.rate)), r.span - r.margin()
}

// publish plans a line that meets the reference at its end.
func (r *refiner) publish(seg *segment, s sample) (*segment, time.Duration) {
	start, t0 := seg.end(), Time(0)
	if late := s.c + r.ticks(startLead); int64(late-start) > 0 {
		// In the tail. Two products rounded down may add up to 1 ns less than one: hence 1 ns more.
		start = late
		t0 = seg.at(start) + 1
	} else {
		t0 = seg.t1
	}
	ahead := float64(start - s.c)
	length := float64(r.ticks(r.span))
	meet := float64(s.t-t0) + r.rate*(ahead+length) // ns from t0 to the reference at the end of the line
	rate := min(max(meet/length, r.rate*(1-maxSlew)), r.rate*(1+maxSlew))

	next := r.segment(seg, start, t0, max(scaled(rate), seg.tail)) // the bounds allow no less, but for rounding
	r.refinements++
	return next, time.Duration(ahead*r.rate) + r.span - r.margin()
}

func (r *refiner) segment(prev *segment, c0 uint64, t0 Time, rate uint64) *segment {
	return newSegment(prev, c0, t0, rate, r.ticks(r.span), scaled(r.nominal*(1-tailLoss)))
}

// margin is how long before the end of its line a segment is to be replaced: the delay of timer and scheduler that
// is borne without falling into the tail.
func (r *refiner) margin() time.Duration { return min(r.span/4, time.Second) }

func (r *refiner) learn(s sample) {
	if len(r.past) == history {
		r.past = append(r.past[:0], r.past[1:]...)
	}
	r.past = append(r.past, s)
}

// forget keeps the last two samples, for the rate since the reference has changed.
func (r *refiner) forget() {
	if n := len(r.past); n > 2 {
		r.past = append(r.past[:0], r.past[n-2:]...)
	}
}

// estimate takes the rate over the longest baseline there is.
func (r *refiner) estimate() {
	first, last := r.past[0], r.past[len(r.past)-1]
	if d := last.c - first.c; d > 0 {
		rate := float64(last.t-first.t) / float64(d)
		r.rate = min(max(rate, r.nominal*(1-maxDeviation)), r.nominal*(1+maxDeviation))
	}
}

func (r *refiner) ticks(d time.Duration) uint64    { return uint64(float64(d) / r.rate) }
func (r *refiner) duration(n uint64) time.Duration { return time.Duration(float64(n) * r.rate) }

func abs(d time.Duration) time.Duration {
	if d < 0 {
		return -d
	}
	return d
}
