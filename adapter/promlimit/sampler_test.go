package promlimit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/clock"
)

// slow is a clock that takes a microsecond to read, and whatever else is added.
type slow struct{ now clock.Time }

func (c *slow) Now() clock.Time {
	c.now += 1000
	return c.now
}

func histogram(t *testing.T, s *promlimit.Sampler) *dto.Histogram {
	t.Helper()
	g, _ := gateOf(t, policyOf(t, "e", "10/s"))
	families, err := registryOf(collectorOf(t, promlimit.Config{Gate: g, Sampler: s})).Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "tickgate_check_duration_seconds" {
			return f.Metric[0].Histogram
		}
	}
	t.Fatal("no histogram")
	return nil
}

// What is told is the decision's time, without that of reading the clock.
func TestSamplerTimes(t *testing.T) {
	c := &slow{}
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: 1, Clock: c})
	require.NoError(t, err)
	from := c.Now()
	c.now += 50_000
	s.Observe(from)
	h := histogram(t, s)
	require.EqualValues(t, 1, h.GetSampleCount())
	require.InDelta(t, 50e-6, h.GetSampleSum(), 1e-9)
	require.NotEmpty(t, h.PositiveSpan, "it is a native histogram")
	s.Observe(c.now + clock.Time(time.Second)) // a clock that went back
	require.InDelta(t, 50e-6, histogram(t, s).GetSampleSum(), 1e-9)
}

// The sampler decides like the gate, and times its share.
func TestSamplerSamples(t *testing.T) {
	g, c := gateOf(t, policyOf(t, "e", "1000/s"))
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: 16, Clock: c})
	require.NoError(t, err)
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	allowed := 0
	for i := range 4000 {
		c.Advance(100) // a clock of steps
		if i%2 == 0 {
			if s.Take(g, "k", "e", 1).Allowed {
				allowed++
			}
		} else if s.AllowAt(h, c.Now(), 1) {
			allowed++
		}
	}
	require.Equal(t, 1000, allowed)
	require.InDelta(t, 4000/16, histogram(t, s).GetSampleCount(), 80)
}

// Of clocks of any step the right share of readings is due.
func TestDueOfAnyClock(t *testing.T) {
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{})
	require.NoError(t, err)
	for _, step := range []clock.Time{1, 43, 100, 1000, 15_625_000, 1 << 20, 1e9} {
		due, now := 0, clock.Time(rand.Int64N(1<<50))
		for range 1 << 20 {
			now += step
			if s.Due(now) {
				due++
			}
		}
		require.InDelta(t, 1024, due, 300, "%d", step)
	}
}

func TestSamplerConfig(t *testing.T) {
	for _, every := range []int{-1, 3, 1000, 1<<30 + 1, 1 << 31} {
		_, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: every})
		require.ErrorContains(t, err, "must be a power of two")
	}
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: 1})
	require.NoError(t, err)
	require.True(t, s.Due(12345), "every one")
}

func TestSamplerAllocates(t *testing.T) {
	g, c := gateOf(t, policyOf(t, "e", "1000/s"))
	s, err := promlimit.NewSampler(promlimit.SamplerConfig{Clock: c})
	require.NoError(t, err)
	h, err := g.Handle("k", "e")
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		s.AllowAt(h, c.Now(), 1)
		s.Take(g, "k", "e", 1)
	}))
}

// BenchmarkSampler is what sampling adds to the fastest decision.
func BenchmarkSampler(b *testing.B) {
	g, _ := gateOf(b, policyOf(b, "e", "2000000/s"))
	h, err := g.Handle("k", "e")
	require.NoError(b, err)
	now := clock.Time(time.Hour)
	b.Run("every=never", func(b *testing.B) {
		for b.Loop() {
			now += 1000
			h.AllowAt(now, 1)
		}
	})
	for _, every := range []int{1024, 64} {
		s, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: every})
		require.NoError(b, err)
		b.Run(fmt.Sprint("every=", every), func(b *testing.B) {
			for b.Loop() {
				now += 1000
				s.AllowAt(h, now, 1)
			}
		})
		b.Run(fmt.Sprint("written-out/every=", every), func(b *testing.B) {
			for b.Loop() {
				if now += 1000; s.Due(now) {
					s.AllowAt(h, now, 1)
				} else {
					h.AllowAt(now, 1)
				}
			}
		})
	}
}

// BenchmarkScrape is a scrape of a gate with a hundred policies.
func BenchmarkScrape(b *testing.B) {
	set := make([]string, 100)
	g, _ := gateOf(b, policyOf(b, "e", "10/s"))
	all := g.Policies()
	for i := range set {
		p := policyOf(b, "endpoint-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "10/s", "100/m")
		all = append(all, p)
	}
	require.NoError(b, g.Apply(all))
	r := registryOf(collectorOf(b, promlimit.Config{Gate: g}))
	for b.Loop() {
		if _, err := r.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
