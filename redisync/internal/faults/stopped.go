//go:build linux

package faults

import (
	"strconv"
	"time"
)

// stopped are the rows in which Redis does not answer for a while, and has lost
// nothing when it answers again.
func stopped() []Scenario {
	long := func(s *Scenario) { s.Disturb = func(b *Bench) { b.freeze(0.2, 0.6) } }
	return []Scenario{
		usual("freeze-short", Credit, "Redis stopped for 50 ms, three times").with(short),
		usual("freeze-short", Lease, "Redis stopped for 50 ms, three times").with(short),
		usual("freeze", Credit, "Redis stopped, then back").with(away).with(long),
		usual("freeze-closed", Credit, "Redis stopped, then back; closed").with(away).with(long).with(func(s *Scenario) {
			s.Away = "closed"
			s.expect(0, "")
			s.Expect.Admitted = 0.4
		}),
		usual("freeze-open", Credit, "Redis stopped, then back; open").with(away).with(long).with(func(s *Scenario) {
			s.Away = "open"
			s.Load = Load{PerSecond: 1500} // of each, and nobody denies
			s.expect(0, "")
			s.Expect.Rule += " + all that is asked for while away"
			s.Expect.Admitted = 0.7
			s.Expect.PerSecond = float64(s.Nodes) * s.Load.PerSecond
		}),
		usual("freeze", Lease, "Redis stopped, then back").with(away).with(long),
		usual("freeze", Strict, "Redis stopped, then back").with(away).with(long),
		usual("pause", Credit, "CLIENT PAUSE for a fifth of the time").with(away).with(pause),
		usual("pause", Lease, "CLIENT PAUSE for a fifth of the time").with(away).with(pause),
	}
}

// away leaves the nodes without Redis for longer than their views are trusted.
func away(s *Scenario) {
	s.Length = 2500 * time.Millisecond
	s.MaxAge = 200 * time.Millisecond
	s.Check = flowsAgain(0.2)
	if s.Mode == Credit {
		s.Expect.Admitted = 0.8
		s.expect(0, "")
	} else {
		s.Expect.Admitted = 0.4 // closed while away
	}
}

func short(s *Scenario) {
	s.Disturb = func(b *Bench) {
		server := b.owner()
		for _, part := range []float64{0.2, 0.5, 0.8} {
			b.Until(part)
			server.Freeze()
			time.Sleep(50 * time.Millisecond)
			server.Thaw()
		}
	}
	s.Expect.Admitted = 0.8
}

func pause(s *Scenario) {
	s.Disturb = func(b *Bench) {
		server := b.owner()
		b.Until(0.3)
		server.Must("CLIENT", "PAUSE", strconv.FormatInt((b.Length/5).Milliseconds(), 10), "ALL")
	}
}

// freeze stops the Redis that has the budget from one part of the run to another.
func (b *Bench) freeze(from, to float64) {
	server := b.owner()
	b.Until(from)
	server.Freeze()
	b.Until(to)
	server.Thaw()
}
