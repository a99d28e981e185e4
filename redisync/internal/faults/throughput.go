//go:build linux

package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// measureThroughput has one node use more keys in an interval than Redis can be told
// of, and counts what it is told. What sets the limit shows in how busy Redis is.
func measureThroughput(t redistest.T, length time.Duration) []Figure {
	const keys = 4096
	limit := admitted.Limit{Tokens: 1_000_000, Per: time.Second, Capacity: 100_000}
	var figures []Figure
	for _, most := range []int{50_000, 1_000_000} {
		server := redistest.Start(t, redistest.Options{})
		s := startSingle(t, server.URL(), 2*keys, policy.Set{shared(Endpoint, 64, limit)}, redisync.Config{
			Policies: map[string]redisync.Mode{Endpoint: redisync.Credit}, MaxSyncs: most,
		})
		names := make([]string, keys)
		for i := range names {
			names[i] = KeyName(i)
		}
		e := s.gate.Endpoint(Endpoint)
		use := func(d time.Duration) {
			for start := time.Now(); time.Since(start) < d; time.Sleep(5 * time.Millisecond) {
				for _, name := range names {
					e.Allow(name)
				}
			}
		}
		use(300 * time.Millisecond)
		cpu, acked, start := busy(server), s.sync.Stats().Acked, time.Now()
		use(max(time.Second, length/2))
		took := time.Since(start).Seconds()
		rate := float64(s.sync.Stats().Acked-acked) / took
		part := (busy(server) - cpu) / took
		s.close()
		name := fmt.Sprintf("at most %d/s", most)
		figures = append(figures,
			plain(name+": key-syncs a second", fmt.Sprintf("%.0f", rate)),
			plain(name+": Redis busy", fmt.Sprintf("%.0f %%, %.1f µs a sync", 100*part, part/max(rate, 1)*1e6)),
		)
	}
	return figures
}

// busy is the processor time, in seconds, that a server has used.
func busy(s *redistest.Server) (all float64) {
	for line := range strings.Lines(s.Text("INFO", "cpu")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			v, _ := strconv.ParseFloat(value, 64)
			all += v
		}
	}
	return all
}
