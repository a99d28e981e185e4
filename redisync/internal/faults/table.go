//go:build linux

package faults

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// Scenarios returns the table of faults.
func Scenarios() []Scenario {
	var all []Scenario
	for _, rows := range [][]Scenario{healthy(), lossy(), stopped(), killed(), served(), nodes(), partitioned(), conserved(), cold()} {
		for _, s := range rows {
			on := s.On
			if on == nil {
				on = []Topology{Alone, Masters, Replicas}
			}
			for _, t := range on {
				all = append(all, s.with(func(s *Scenario) {
					if s.Topology = t; t != Alone {
						// Six servers leave the nodes less of the machine.
						s.Expect.Reach = 0
						s.Expect.Admitted *= 0.9
					}
				}))
			}
		}
	}
	return all
}

// usual is what most rows start from: 8 nodes, 10,000 tokens a second, 1,000 at once,
// of which a node may use 16 before the others know. Strict nodes ask Redis for each
// token, so there are 4, with a tenth of the rate.
func usual(name string, mode Mode, fault string) Scenario {
	s := Scenario{
		Name: name + "-" + string(mode), Fault: fault, Mode: mode, Nodes: 8, Credit: 16,
		Limit: admitted.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000},
	}
	s.Expect.Admitted = 0.97
	if mode == Strict {
		s.Nodes = 4
		s.Limit = admitted.Limit{Tokens: 1000, Per: time.Second, Capacity: 200}
		s.Expect.Admitted = 0.85                  // a call beyond its deadline is charged for nothing
		s.Expect.Slowest = 300 * time.Millisecond // a decision waits for Redis, but not for seconds
	}
	s.expect(0, "")
	return s
}

// unused is for rows in which nodes wait, so that not all of the budget is used.
func unused(s *Scenario) { s.Expect.Admitted = 0.3 }

// expect sets the bound: that of the mode and the number of nodes, and what a fault
// may add to it.
func (s *Scenario) expect(more float64, why string) {
	e := &s.Expect
	e.Bound, e.Rule = 0, "never exceeded"
	if s.Mode == Credit {
		e.Bound, e.Rule = float64(s.Nodes-1)*float64(s.Credit), "(N-1)·b"
	}
	if more == 0 {
		return
	}
	e.Bound += more
	if s.Mode != Credit {
		e.Rule = why
	} else {
		e.Rule += " + " + why
	}
}

// with changes a copy.
func (s Scenario) with(change func(s *Scenario)) Scenario {
	change(&s)
	return s
}

// flowsAgain checks that in the last part of the run nearly as much was admitted as is
// refilled: whatever happened before is over.
func flowsAgain(part float64) func(b *Bench, r *Result) error {
	return func(b *Bench, r *Result) error {
		span := time.Duration(part * float64(r.Length))
		from, n := b.over-int64(span), int64(0)
		for _, p := range b.Players {
			log, err := p.Log()
			if err != nil {
				return err
			}
			for _, e := range log.Events() {
				if e.After >= from {
					n += int64(e.N)
				}
			}
		}
		s := b.scenario
		least := 0.7
		if s.Mode == Strict { // every token takes a call
			least = 0.5
		}
		want := least * s.Limit.Refill(max(0, span-b.stalls.since(from)))
		if float64(n) < want {
			return fmt.Errorf("in the last %v only %d tokens were admitted, less than %.0f: the nodes did not recover: %w", span.Round(time.Millisecond), n, want, errSlow)
		}
		return nil
	}
}
