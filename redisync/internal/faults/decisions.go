//go:build linux

package faults

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// rounds is how often each state is measured: the median is taken of what the rounds
// say, since a busy machine spoils some.
const rounds = 9

// measureDecisions times every decision of one caller, in turn with Redis well and
// stopped.
func measureDecisions(t redistest.T, length time.Duration) []Figure {
	limit := admitted.Limit{Tokens: 1_000_000, Per: time.Second, Capacity: 100_000}
	server := redistest.Start(t, redistest.Options{})
	s := startSingle(t, server.URL(), 1000, policy.Set{shared(Endpoint, 1000, limit)}, redisync.Config{
		Policies: map[string]redisync.Mode{Endpoint: redisync.Credit}, MaxAge: 50 * time.Millisecond,
	})
	defer s.close()
	h, err := s.gate.Handle(KeyName(0), Endpoint)
	if err != nil {
		t.Fatalf("no handle: %v", err)
	}
	defer h.Release()
	span := max(100*time.Millisecond, length/(2*rounds))
	var ratios, healthy, stopped []float64
	var slowest time.Duration
	timed(h, span) // the first touch of everything
	for range rounds {
		well := timed(h, span)
		server.Freeze()
		without := timed(h, span)
		server.Thaw()
		timed(h, 100*time.Millisecond)
		a, b := quantile(well, .999), quantile(without, .999)
		slowest = max(slowest, quantile(without, 1))
		healthy, stopped = append(healthy, float64(a)), append(stopped, float64(b))
		ratios = append(ratios, float64(b)/float64(a))
	}
	r := median(ratios)
	return []Figure{
		plain("p99.9, Redis well", time.Duration(median(healthy))),
		plain("p99.9, Redis stopped", time.Duration(median(stopped))),
		figure("ratio, median of the rounds", fmt.Sprintf("%.2f", r), "≤ 1.5", r <= 1.5),
		plain("slowest, Redis stopped", slowest),
	}
}

// timed makes decisions for a while, each two microseconds after the one before, and
// returns how long each took.
func timed(h tickgate.Handle, d time.Duration) []time.Duration {
	c := clock.Runtime()
	took := make([]time.Duration, 0, d/(2*time.Microsecond))
	for start, last := time.Now(), time.Duration(0); len(took) < cap(took); {
		before := time.Since(start)
		if before >= d {
			break
		}
		if before-last < 2*time.Microsecond {
			continue
		}
		last = before
		h.AllowAt(c.Now(), 1)
		took = append(took, time.Since(start)-before)
	}
	return took
}
