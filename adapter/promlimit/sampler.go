package promlimit

import (
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// DefaultEvery is of how many decisions one is timed unless told otherwise.
const DefaultEvery = 1024

// SamplerConfig says how decisions are timed. The zero value is a working default.
type SamplerConfig struct {
	Every int         // of so many decisions one is timed: a power of two, 1 to 2^30; 0: 1,024
	Clock clock.Clock // nil: clock.Default()
}

// Sampler times a few decisions. Which ones, the time says at which they are made: there
// is no counter that all share. Its histogram is Prometheus' native one, of at most 160
// buckets that are 10 % apart, beside eight classic ones.
//
// All methods may be called by any number of goroutines at once.
type Sampler struct {
	clock     clock.Clock
	shift     uint
	reading   time.Duration // what a reading of the clock takes
	histogram prometheus.Histogram
}

// NewSampler makes a sampler. It takes some microseconds, to find what a reading of the
// clock costs: that is taken off what is measured.
func NewSampler(cfg SamplerConfig) (*Sampler, error) {
	if cfg.Every == 0 {
		cfg.Every = DefaultEvery
	}
	if cfg.Every < 1 || cfg.Every > 1<<30 || bits.OnesCount(uint(cfg.Every)) != 1 {
		return nil, errors.Join(&tickgate.ConfigError{
			Field: "Every", Value: strconv.Itoa(cfg.Every), Reason: "must be a power of two, 1 to 2^30, or 0 for 1,024",
		})
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Default()
	}
	s := &Sampler{clock: cfg.Clock, shift: uint(64 - bits.TrailingZeros(uint(cfg.Every)))}
	s.histogram = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "check_duration_seconds",
		Help:                            "How long sampled decisions took.",
		Buckets:                         []float64{25e-9, 50e-9, 100e-9, 250e-9, 1e-6, 10e-6, 100e-6, 1e-3},
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramZeroThreshold:    1e-9,
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	})
	s.reading = s.calibrate()
	return s, nil
}

// calibrate returns what a reading takes: the median of many.
func (s *Sampler) calibrate() time.Duration {
	var took [129]time.Duration
	for i := range took {
		from := s.clock.Now()
		took[i] = s.clock.Now().Sub(from)
	}
	slices.Sort(took[:])
	return took[len(took)/2]
}

// Due reports whether the decision that is made at now is to be timed. The bits of now
// are mixed, since clocks that move in steps have low ones that are always zero.
func (s *Sampler) Due(now clock.Time) bool {
	return uint64(now)*0x9E3779B97F4A7C15>>s.shift == 0
}

// Observe takes down how long a decision took that was begun at from, a reading of the
// sampler's clock.
func (s *Sampler) Observe(from clock.Time) {
	took := max(0, s.clock.Now().Sub(from)-s.reading)
	s.histogram.Observe(took.Seconds())
}

// Describe and Collect make the sampler a collector of its own, for those who want
// its histogram alone: where a [Collector] has it, it is not to be registered again.
func (s *Sampler) Describe(out chan<- *prometheus.Desc) { s.histogram.Describe(out) }

// Collect is for Prometheus.
func (s *Sampler) Collect(out chan<- prometheus.Metric) { s.histogram.Collect(out) }

// Take is [tickgate.Gate.Take], timed now and then.
func (s *Sampler) Take(g *tickgate.Gate, apikey, endpoint string, n int64) tickgate.Decision {
	now := s.clock.Now()
	if !s.Due(now) {
		return g.TakeAt(now, apikey, endpoint, n)
	}
	from := s.clock.Now()
	d := g.TakeAt(now, apikey, endpoint, n)
	s.Observe(from)
	return d
}

// AllowAt is [tickgate.Handle.AllowAt], timed now and then. Where the call of a function
// more, 1 ns, is too much, write it out: what is left of it is a multiplication and a
// branch, as Due is inlined.
//
//	if s.Due(now) {
//		return s.AllowAt(h, now, 1)
//	}
//	return h.AllowAt(now, 1)
func (s *Sampler) AllowAt(h tickgate.Handle, now clock.Time, n int64) bool {
	if !s.Due(now) {
		return h.AllowAt(now, n)
	}
	from := s.clock.Now()
	ok := h.AllowAt(now, n)
	s.Observe(from)
	return ok
}
