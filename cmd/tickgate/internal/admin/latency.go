package admin

import (
	"math"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
)

// latency reads how long sampled decisions took out of their histogram.
type latency struct{ collector prometheus.Collector }

// newLatency makes a collector of its own for little else than the histogram. It
// returns nil without a sampler.
func newLatency(g *tickgate.Gate, s *promlimit.Sampler) (*latency, error) {
	if s == nil {
		return nil, nil
	}
	c, err := promlimit.New(promlimit.Config{Gate: g, Sampler: s, MaxPolicies: 1})
	return &latency{c}, err
}

// read returns the histogram, nil if it cannot be read.
func (l *latency) read() *dto.Histogram {
	metrics := make(chan prometheus.Metric)
	go func() {
		defer close(metrics)
		l.collector.Collect(metrics)
	}()
	var found *dto.Histogram
	for m := range metrics {
		var out dto.Metric
		if strings.Contains(m.Desc().String(), `"tickgate_check_duration_seconds"`) && m.Write(&out) == nil {
			found = out.Histogram
		}
	}
	return found
}

// quantiles returns the values below which the shares qs of a native histogram lie, in
// seconds; NaN without a sample. Within a bucket, whose bounds are some 10 % apart,
// values are taken to be spread evenly on a logarithmic scale.
func quantiles(h *dto.Histogram, qs ...float64) []float64 {
	out := make([]float64, len(qs))
	for i, q := range qs {
		out[i] = quantile(h, q)
	}
	return out
}

func quantile(h *dto.Histogram, q float64) float64 {
	n := float64(h.GetSampleCount())
	if n == 0 {
		return math.NaN()
	}
	rank := q * n
	seen := float64(h.GetZeroCount())
	if rank <= seen {
		return h.GetZeroThreshold()
	}
	base := math.Exp2(math.Exp2(-float64(h.GetSchema()))) // of the bounds
	index, count, next := int32(0), int64(0), 0
	deltas := h.GetPositiveDelta()
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			if next == len(deltas) {
				break
			}
			count += deltas[next]
			next++
			if in := float64(count); in > 0 && rank <= seen+in {
				return math.Pow(base, float64(index)-1+(rank-seen)/in)
			}
			seen += float64(count)
			index++
		}
	}
	return math.Pow(base, float64(index)) // above all: the counts were read one after the other
}
