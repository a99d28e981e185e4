//go:build linux

package faults

import (
	"fmt"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// conserved are the rows that count: the limit is wide and hardly refills, so in the
// end Redis must have, to the token, what the nodes have left of it.
func conserved() []Scenario {
	nothing := func(*Scenario) {}
	lost := func(s *Scenario) { s.Faults = Faults{LoseRequest: 0.15, LoseReply: 0.15} }
	silent := func(s *Scenario) { s.Faults = Faults{LoseRequest: 0.02, LoseReply: 0.02, Silent: true} }
	resets := func(s *Scenario) {
		s.Disturb = func(b *Bench) {
			for part := 0.1; part < 0.9; part += 0.05 {
				b.Until(part)
				b.EachLink((*Link).Reset)
			}
		}
	}
	scripts := func(s *Scenario) {
		s.Disturb = func(b *Bench) {
			for part := 0.1; part < 0.9; part += 0.05 {
				b.Until(part)
				b.all("SCRIPT", "FLUSH")
			}
		}
	}
	// Whoever waits does not reach the age at which it would grant by itself.
	freeze := func(s *Scenario) {
		s.MaxAge = 20 * time.Second
		s.Disturb = func(b *Bench) { b.freeze(0.3, 0.6) }
	}
	late := func(s *Scenario) {
		s.MaxAge = 20 * time.Second
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.EachLink(func(l *Link) { l.Hold(true, true) })
			b.Until(0.6)
			b.EachLink((*Link).Heal)
		}
	}
	killed := func(s *Scenario) {
		s.Nodes, s.Processes = 3, true
		s.Disturb = func(b *Bench) {
			b.Until(0.5)
			b.Kill(1)
		}
	}
	durable := func(s *Scenario) {
		s.On = []Topology{Alone}
		s.Server = redistest.Options{AOF: true}
		s.MaxAge = 20 * time.Second
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.Redis.Kill()
			b.Until(0.4)
			b.Redis.Restart()
		}
	}
	failover := func(s *Scenario) {
		s.On = []Topology{Replicas}
		s.Length = 2 * time.Second
		s.MaxAge = 20 * time.Second
		s.Disturb = func(b *Bench) {
			replica := b.replicaOf(b.owner())
			b.Until(0.3)
			b.Cluster.Failover(replica)
		}
	}
	migrate := func(s *Scenario) {
		s.On = []Topology{Masters, Replicas}
		s.Length = 2 * time.Second
		s.MaxAge = 20 * time.Second
		s.Disturb = func(b *Bench) { b.migrate(0.2, 0.4, 0.6) }
	}
	var rows []Scenario
	for _, row := range []struct {
		name, fault string
		with        func(s *Scenario)
		modes       []Mode
	}{
		{"none", "none", nothing, []Mode{Credit, Lease, Strict}},
		{"lost", "30 % of calls lost, either way", lost, []Mode{Credit, Lease, Strict}},
		{"silent", "4 % of calls lost without a word", silent, []Mode{Credit, Lease}},
		{"resets", "all connections reset, over and over", resets, []Mode{Credit, Lease}},
		{"scripts", "SCRIPT FLUSH, over and over", scripts, []Mode{Credit, Lease}},
		{"freeze", "Redis stopped, then back", freeze, []Mode{Credit}},
		{"late", "all nodes cut off, what was sent arrives late", late, []Mode{Credit}},
		{"kill-node", "kill -9 a node", killed, []Mode{Credit, Lease}},
		{"kill-aof", "kill -9 Redis, with AOF", durable, []Mode{Credit, Lease}},
		{"failover", "a replica takes over, in order", failover, []Mode{Credit, Lease}},
		{"migrate", "the slot moves to another master, three times", migrate, []Mode{Credit, Lease}},
	} {
		for _, m := range row.modes {
			rows = append(rows, usual("sum-"+row.name, m, row.fault+"; sums").with(wide).with(row.with))
		}
	}
	return rows
}

// wide is a limit that the load does not use up.
func wide(s *Scenario) {
	s.Nodes = 4
	s.Limit = admitted.Limit{Tokens: 1, Per: 100 * time.Second, Capacity: 300_000} // refilled in a year
	s.Load = Load{PerSecond: 1500}
	if s.Mode == Strict {
		s.Load = Load{PerSecond: 300}
	}
	s.Expect.Admitted = 0
	s.expect(0, "")
	s.Check = sumsAgree
}

// sumsAgree checks that the level in Redis is the capacity less all that was admitted.
// A node that was killed takes with it what it had not told, at most its credit, or
// what it held of a lease; what was left of a
// lease at its end is lost, and a strict call without an answer may have been charged.
func sumsAgree(b *Bench, r *Result) error {
	text := b.owner().Text("HGET", b.key(0), "l")
	level, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("no level in Redis: %w", err)
	}
	const unit = redisync.Unit
	refilled := int64(b.scenario.Limit.Refill(time.Since(b.start)+settleFor)*unit) + 1
	want := (b.scenario.Limit.Capacity - r.Admitted) * unit
	least, most := want, want+refilled
	lost := int64(len(b.killed)) * b.scenario.Credit * unit
	switch b.scenario.Mode {
	case Credit:
		most += lost
	case Lease:
		if lost > 0 || b.scenario.Faults.Silent { // a grant whose reply does not come before the lease ends is lost, too
			least = 0
		}
		for _, report := range r.Reports {
			least -= int64(report.Stats.Wasted) * unit
		}
	case Strict:
		for _, report := range r.Reports {
			least -= int64(report.Stats.Strict.Unknown) * unit
		}
	}
	if level < least || level > most {
		return fmt.Errorf("Redis has %.6f tokens left, and should have %.6f to %.6f: the nodes admitted %d of %d",
			float64(level)/unit, float64(least)/unit, float64(most)/unit, r.Admitted, b.scenario.Limit.Capacity)
	}
	if r.Admitted < 100 {
		return fmt.Errorf("only %d tokens were admitted: the sums say nothing", r.Admitted)
	}
	return nil
}
