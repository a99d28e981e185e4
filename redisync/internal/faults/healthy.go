//go:build linux

package faults

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// healthy are the rows in which nothing happens. Each bound must be kept, and for
// greedy loads on credit nearly reached.
func healthy() []Scenario {
	var all []Scenario
	for _, n := range []int{2, 4, 8, 16} {
		all = append(all, usual(fmt.Sprintf("greedy-%d", n), Credit, "none, greedy").with(func(s *Scenario) {
			s.Nodes = n
			s.expect(0, "")
			if n >= 8 { // fewer find less time to use up their credit at once
				s.Load = Load{On: 5 * time.Millisecond, Off: 5 * time.Millisecond} // all ask at the same time
				s.Expect.Reach = 0.7
			}
		}))
	}
	twice := func(s *Scenario) {
		s.Load = Load{PerSecond: 2 * s.Limit.Refill(time.Second) / float64(s.Nodes)}
	}
	return append(all,
		usual("greedy-2", Lease, "none, greedy").with(func(s *Scenario) { s.Nodes = 2 }),
		usual("greedy-8", Lease, "none, greedy"),
		usual("greedy-16", Lease, "none, greedy").with(func(s *Scenario) { s.Nodes = 16 }),
		usual("greedy-4", Strict, "none, greedy"),
		usual("poisson", Credit, "none, Poisson, twice the rate").with(twice),
		usual("poisson", Lease, "none, Poisson, twice the rate").with(twice),
		usual("poisson", Strict, "none, Poisson, twice the rate").with(twice),
		skewed("skewed", Credit),
		skewed("skewed", Lease),
		usual("onoff", Credit, "none, on for 50 ms and off for 150, in step").with(bursts),
		usual("onoff", Lease, "none, on for 50 ms and off for 150, in step").with(bursts),
		usual("delay", Credit, "every message takes 1 to 2 ms").with(func(s *Scenario) {
			s.Faults = Faults{Delay: time.Millisecond, Jitter: time.Millisecond}
		}),
		usual("delay", Lease, "every message takes 1 to 2 ms").with(func(s *Scenario) {
			s.Faults = Faults{Delay: time.Millisecond, Jitter: time.Millisecond}
			s.Expect.Admitted = 0.9
		}),
		usual("processes", Credit, "none, greedy, each node its own process").with(func(s *Scenario) {
			s.Nodes, s.Processes = 4, true
			s.expect(0, "")
		}),
		usual("processes", Lease, "none, greedy, each node its own process").with(func(s *Scenario) {
			s.Nodes, s.Processes = 4, true
		}),
	)
}

// skewed has a hundred keys, of which a few are asked for most. Not all use up their
// budget, so nothing is said about how much of it is admitted.
func skewed(name string, mode Mode) Scenario {
	return usual(name, mode, "none, 100 keys, Zipf").with(func(s *Scenario) {
		s.Nodes = 4
		s.Limit = admitted.Limit{Tokens: 300, Per: time.Second, Capacity: 60}
		s.Credit = 8
		s.Load = Load{PerSecond: 2500, Keys: 100, Skew: 1.3}
		s.expect(0, "")
		s.Expect.Admitted = 0
	})
}

// bursts use up at once what was refilled in the pause. What is on half of the time at
// most cannot use all of the budget.
func bursts(s *Scenario) {
	s.Load = Load{On: 50 * time.Millisecond, Off: 150 * time.Millisecond}
	s.Expect.Admitted = 0
}
