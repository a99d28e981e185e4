//go:build linux

package faults

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// lossy are the rows in which calls are lost, before Redis has seen them or after it
// has executed them. Sums must come out right all the same: neither less admitted, as
// if calls were charged twice, nor more, as if they were forgotten.
func lossy() []Scenario {
	var all []Scenario
	for _, p := range []float64{0.01, 0.3} {
		all = append(all,
			losing("requests", Credit, Faults{LoseRequest: p}, 0.97),
			losing("replies", Credit, Faults{LoseReply: p}, 0.97),
			losing("requests", Lease, Faults{LoseRequest: p}, 0.8),
			losing("replies", Lease, Faults{LoseReply: p}, 0.8),
		)
	}
	return append(all,
		losing("both", Credit, Faults{LoseRequest: 0.15, LoseReply: 0.15}, 0.97),
		// With nothing said of a loss, the deadline of the sync is how long it lasts.
		losing("silent", Credit, Faults{LoseRequest: 0.02, LoseReply: 0.02, Silent: true}, 0),
		losing("silent", Lease, Faults{LoseRequest: 0.02, LoseReply: 0.02, Silent: true}, 0),
	)
}

func losing(what string, mode Mode, f Faults, least float64) Scenario {
	part := f.LoseRequest + f.LoseReply
	fault := fmt.Sprintf("%.0f %% of %s lost", 100*part, what)
	switch {
	case f.Silent:
		fault = fmt.Sprintf("%.0f %% of calls lost without a word", 100*part)
	case what == "both":
		fault = fmt.Sprintf("%.0f %% of calls lost, either way", 100*part)
	}
	return usual(fmt.Sprintf("lost-%s-%.0f", what, 100*part), mode, fault).with(func(s *Scenario) {
		s.Faults = f
		if part > 0.01 { // a loss takes the connection with it: calls take long, and the credit must do meanwhile
			s.Nodes, s.Credit, s.Length = 4, 32, 2*time.Second
			s.Limit = admitted.Limit{Tokens: 2000, Per: time.Second, Capacity: 400}
			s.expect(0, "")
		}
		s.Expect.Admitted = least
		s.Check = func(_ *Bench, r *Result) error {
			n := r.Links
			lost := float64(n.LostRequests+n.LostReplies) / float64(max(1, n.Calls))
			if lost < part/3 || lost > 2*part {
				return fmt.Errorf("%.3f of the calls were lost, not about %.2f: the scenario did not do what it says", lost, part)
			}
			return nil
		}
	})
}
