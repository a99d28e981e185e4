package clock

import "math/bits"

// rateShift places the binary point of a segment's rates: nanoseconds per tick times 2^54. It admits counters from
// 1 MHz (1000 ns per tick, below 2^10) up, and its last bit is worth 40 ns in ten years at 2.3 GHz.
const rateShift = 54

// segment says which Time belongs to which reading of the counter. It is immutable once published; the refinement
// replaces it by the next one while readers go on.
//
//	Time                                   ·
//	  │                       tail    ·  ·     as slow as the slowest line there can be
//	  │                  ┌──·──·──·──
//	  │           line  /│end
//	  │               /  │
//	  │  prev       /    │
//	  │ ──────────/c0    │
//	  └───────────┴──────┴──────────────────▶ counter
//
// Why time never goes back, whatever the scheduler does to readers and to the refinement. Write f_k for the function
// of segment k, in the order of publication.
//
//  1. Each f_k is monotone in the counter: line and tail are, and they meet at the end.
//  2. f_k+1 >= f_k at every reading. Before its start, f_k+1 is f_k, bit for bit (prev), or a constant not below it
//     (the clamp under the start of prev). Its start lies at or after the end of line k, so what it replaces is the
//     tail of k. There it is at f_k, or 1 ns above, and goes on at least as fast, as all tails have one rate and no
//     line is slower.
//  3. The clamp of f_k is its value at the start of k-1, which had passed when k was published.
//
// Now let a reading A, counter a under segment i, be over before a reading B, counter b under segment j, begins.
// Then a <= b, as the counters of all cores agree, and i <= j, as B loads the pointer later. With s the start of
// i-1, 3 gives s <= b, so f_i(a) <= f_i(max(a, s)) <= f_i(b) by 1, and f_i(b) <= f_j(b) by 2. No step of this asks
// how fast anything runs: a reader may stall between counter and pointer, and the refinement between deciding and
// publishing.
//
// A segment that is published in time, before the tail of the last one begins, continues its line without any gap.
// One published late steps forward by what the new line gained on the tail since its start: the rates differ by at
// most 4000 ppm, usually 2000, so a delay of a millisecond shows as some microseconds.
type segment struct {
	c0   uint64   // counter at the start
	t0   Time     // time there
	rate uint64   // of the line, scaled
	span uint64   // length of the line in ticks
	t1   Time     // time at the end of the line
	tail uint64   // rate beyond the end, scaled; not above rate, and one for all segments of a clock
	prev *segment // for readings before c0; has no prev itself; nil: such readings are clamped to t0
}

// newSegment returns the segment from (c0, t0) that takes over from prev.
func newSegment(prev *segment, c0 uint64, t0 Time, rate, span, tail uint64) *segment {
	s := &segment{c0: c0, t0: t0, rate: rate, span: span, t1: t0 + scale(span, rate), tail: tail}
	if prev != nil {
		cut := *prev
		cut.prev = nil
		s.prev = &cut
	}
	return s
}

// line returns the time on the line at the reading c, and whether c is there. It is apart from at because it can be
// inlined, as at cannot.
func (s *segment) line(c uint64) (Time, bool) {
	// A reading before c0 wraps to a difference above any span, so one comparison finds both ends.
	d := c - s.c0
	return s.t0 + scale(d, s.rate), d < s.span
}

// at returns the time at the reading c.
func (s *segment) at(c uint64) Time {
	if t, ok := s.line(c); ok {
		return t
	}
	return s.beyond(c)
}

// beyond is at outside of the line: in the tail, where the refinement is late, or before the start, where a segment
// was published ahead of time or the reader stalled.
//
//go:noinline
func (s *segment) beyond(c uint64) Time {
	// The signed difference tells a reading slightly before c0, which is ordinary, from one far after it.
	if int64(c-s.c0) >= 0 {
		return s.t1 + scale(c-s.c0-s.span, s.tail)
	}
	if s.prev == nil {
		return s.t0
	}
	return s.prev.at(c)
}

// end returns the counter at the end of the line.
func (s *segment) end() uint64 { return s.c0 + s.span }

// endless returns s with a tail of the given rate, not below that of its own: the last segment, which nothing
// replaces.
func (s *segment) endless(tail uint64) *segment {
	last := *s
	last.tail = max(tail, s.tail)
	return &last
}

// scale returns d ticks in nanoseconds, rounded down. Results beyond 2^63 wrap: 292 years.
func scale(d, rate uint64) Time {
	hi, lo := bits.Mul64(d, rate)
	return Time(hi<<(64-rateShift) | lo>>rateShift)
}

// scaled returns a rate in nanoseconds per tick as a segment holds it.
func scaled(nsPerTick float64) uint64 { return uint64(nsPerTick * (1 << rateShift)) }
