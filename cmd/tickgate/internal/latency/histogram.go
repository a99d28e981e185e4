package latency

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longest is the longest time that is told from longer ones.
	longest = int64(time.Hour)
	// digits are the significant digits of a time: it is exact below 2 µs and
	// within 0.1 % above.
	digits = 3
	// backing is how many calls must lie beyond a quantile for it to be shown.
	backing = 10
)

// histogram counts times in ns. One goroutine uses it.
type histogram struct {
	counts *hdrhistogram.Histogram
	max    int64 // exact
}

func newHistogram() *histogram {
	return &histogram{counts: hdrhistogram.New(1, longest, digits)}
}

// record counts one time. A negative one, from a clock that went back, counts
// as 0.
func (h *histogram) record(ns int64) {
	ns = max(0, ns)
	h.max = max(h.max, ns)
	_ = h.counts.RecordValue(min(ns, longest)) // in range
}

func (h *histogram) reset() {
	h.counts.Reset()
	h.max = 0
}

func (h *histogram) calls() int64 { return h.counts.TotalCount() }

// quantile returns the time that a share of q calls, 0 to 1, did not exceed.
func (h *histogram) quantile(q float64) int64 {
	return min(h.counts.ValueAtPercentile(100*q), h.max)
}

// backs says whether enough calls lie beyond the quantile q for it to mean
// something. The margin is for the rounding of 1-q.
func (h *histogram) backs(q float64) bool {
	return float64(h.calls())*(1-q) >= backing-1e-3
}
