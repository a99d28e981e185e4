//go:build linux

package faults

import (
	"time"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// killed are the rows in which Redis loses what it had, or a part of it.
func killed() []Scenario {
	// What the first node to come back believes may be above what is left by what the
	// others used after its last answer and had not told, which is their credit, or
	// had told, which is what passes in an interval.
	forgets := func(s *Scenario) {
		switch s.Mode {
		case Credit:
			s.expect(float64(s.Nodes-1)*float64(s.Credit)+s.Limit.Refill(20*time.Millisecond), "(N-1)·b + r·2T of what is forgotten")
		case Strict:
			s.expect(float64(s.Limit.Capacity), "C: nobody else knows")
		}
		s.Length = 1800 * time.Millisecond
		s.MaxAge = 200 * time.Millisecond
		s.Check = flowsAgain(0.2)
		s.Expect.Admitted = 0.75
		if s.Mode == Lease { // a budget that learns is not used for a term of the leases
			s.Expect.Admitted = 0.3
		}
	}
	// A master that comes back to a cluster does not accept writes for two seconds.
	back := func(s *Scenario) {
		s.InCluster = 8 * time.Second
		s.On = []Topology{Alone, Masters}
		s.Expect.Admitted = 0.3
		s.Disturb = func(b *Bench) {
			server := b.owner()
			b.Until(0.3)
			server.Kill()
			b.Until(0.33)
			server.Restart()
		}
	}
	restart := func(s *Scenario) {
		forgets(s)
		back(s)
		s.On = []Topology{Alone}
	}
	restartMaster := func(s *Scenario) {
		restart(s)
		s.On = []Topology{Masters}
	}
	durable := func(s *Scenario) {
		forgets(s)
		back(s)
		s.Server = redistest.Options{AOF: true}
		s.expect(0, "")
	}
	flush := func(s *Scenario) {
		forgets(s)
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.all("FLUSHALL")
		}
	}
	full := func(s *Scenario) {
		forgets(s)
		s.expect(0, "")
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.all("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "1")
			b.Until(0.6)
			b.all("CONFIG", "SET", "maxmemory", "0")
		}
	}
	scripts := func(s *Scenario) {
		s.Expect.Admitted = min(s.Expect.Admitted, 0.9)
		s.Disturb = func(b *Bench) {
			for part := 0.1; part < 0.9; part += 0.05 {
				b.Until(part)
				b.all("SCRIPT", "FLUSH")
			}
		}
	}
	evicts := func(s *Scenario) {
		forgets(s)
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.owner().Must("DEL", b.key(0))
		}
	}
	var all []Scenario
	for _, row := range []struct {
		name, fault string
		with        func(s *Scenario)
		modes       []Mode
	}{
		{"kill-empty", "kill -9 Redis, empty restart", restart, []Mode{Credit, Lease}},
		{"kill-empty", "kill -9 Redis, empty restart", restartMaster, []Mode{Credit, Lease}},
		{"kill-aof", "kill -9 Redis, with AOF", durable, []Mode{Credit, Lease, Strict}},
		{"flushall", "FLUSHALL", flush, []Mode{Credit, Lease, Strict}},
		{"evicted", "the key deleted", evicts, []Mode{Credit}},
		{"script-flush", "SCRIPT FLUSH, over and over", scripts, []Mode{Credit, Lease, Strict}},
		{"maxmemory", "Redis out of memory, then not", full, []Mode{Credit, Lease}},
	} {
		for _, m := range row.modes {
			all = append(all, usual(row.name, m, row.fault).with(row.with))
		}
	}
	return all
}
