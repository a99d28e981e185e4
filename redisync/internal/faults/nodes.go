//go:build linux

package faults

import "time"

// nodes are the rows in which a node dies, stands still, or comes and goes.
func nodes() []Scenario {
	four := func(s *Scenario) {
		s.Nodes, s.Processes = 4, true
		s.Expect.Admitted = 0.9
		s.Length = 2500 * time.Millisecond
		s.expect(0, "")
	}
	kill := func(s *Scenario) {
		four(s)
		if s.Mode == Credit {
			s.expect(float64(s.Credit), "b of the dead node")
		}
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.Kill(1)
		}
		s.Check = flowsAgain(0.2)
	}
	freeze := func(s *Scenario) {
		four(s)
		s.Expect.Asleep = true
		if s.Mode == Credit { // when it wakes it has not had an answer for long
			s.expect(float64(s.Limit.Capacity)/float64(s.Nodes), "C/N of the one")
		}
		s.Disturb = func(b *Bench) {
			b.Until(0.2)
			b.must(b.Process(1).Freeze())
			b.Until(0.7)
			b.must(b.Process(1).Thaw())
		}
		s.Check = flowsAgain(0.2)
		s.Expect.Slowest = 2 * s.Length // the frozen decision itself
	}
	join := func(s *Scenario) {
		s.Nodes = 4
		s.expect(2*float64(s.Credit), "b of each that joins")
		if s.Mode != Credit {
			s.expect(0, "")
		}
		s.Expect.Admitted = 0.85
		s.Length = 2 * time.Second
		s.Disturb = func(b *Bench) {
			b.Until(0.3)
			b.must(b.Join(4).Begin())
			b.must(b.Join(5).Begin())
			b.Until(0.5)
			b.Leave(0)
			b.Until(0.6)
			b.Leave(1)
		}
	}
	return []Scenario{
		usual("kill-node", Credit, "kill -9 a node").with(kill),
		usual("kill-node", Lease, "kill -9 a node").with(kill),
		usual("freeze-node", Credit, "a node stopped for half of the time").with(freeze),
		usual("freeze-node", Lease, "a node stopped, past its lease").with(freeze),
		usual("join-leave", Credit, "two nodes join, two leave").with(join),
		usual("join-leave", Lease, "two nodes join, two leave").with(join),
	}
}
