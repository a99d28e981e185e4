//go:build linux

package faults

import "time"

// served are the rows in which another server answers than before: a replica that
// took over, or the new owner of a slot.
func served() []Scenario {
	replicas := []Topology{Replicas}
	cluster := func(s *Scenario) {
		s.Length = 3 * time.Second
		s.MaxAge = 500 * time.Millisecond
		s.Check = flowsAgain(0.15)
		s.Expect.Admitted = 0.75
	}
	planned := func(s *Scenario) {
		cluster(s)
		s.On = replicas
		s.Disturb = func(b *Bench) {
			replica := b.replicaOf(b.owner())
			b.Until(0.3)
			b.Cluster.Failover(replica)
		}
	}
	// For as long as nobody has taken over, the rule for an absent Redis holds. What
	// the master had not passed on is charged by the nodes again.
	lost := func(s *Scenario) {
		cluster(s)
		s.On = replicas
		s.Length = 5 * time.Second
		if s.Mode == Lease {
			s.Expect.Admitted = 0.3
		}
		s.Disturb = func(b *Bench) {
			master := b.owner()
			b.Until(0.1)
			master.Kill()
		}
	}
	moved := func(s *Scenario) {
		cluster(s)
		s.On = []Topology{Masters, Replicas}
		s.Disturb = func(b *Bench) { b.migrate(0.2, 0.4, 0.6) }
	}
	return []Scenario{
		usual("failover", Credit, "a replica takes over, in order").with(planned),
		usual("failover", Lease, "a replica takes over, in order").with(planned),
		usual("failover", Strict, "a replica takes over, in order").with(planned).with(unused),
		usual("kill-master", Credit, "kill -9 the master, a replica takes over").with(lost),
		usual("kill-master", Lease, "kill -9 the master, a replica takes over").with(lost),
		usual("migrate", Credit, "the slot moves to another master, three times").with(moved),
		usual("migrate", Lease, "the slot moves to another master, three times").with(moved),
		usual("migrate", Strict, "the slot moves to another master, three times").with(moved).with(unused),
	}
}

// migrate moves the budget's slot to another master at each part of the run.
func (b *Bench) migrate(parts ...float64) {
	slot := b.Cluster.Slot(b.key(0))
	for _, part := range parts {
		b.Until(part)
		from := b.owner()
		for _, to := range b.masters() {
			if to != from {
				b.Cluster.Migrate(slot, from, to)
				break
			}
		}
	}
}
