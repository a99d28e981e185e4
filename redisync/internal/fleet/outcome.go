package fleet

import (
	"math"
	"time"
)

// short is the window for what all nodes do together: 2,000 tokens at 10,000/s.
const short = 200 * time.Millisecond

// Fair is how near a share must be to the fair one, Level how near the flow to the rate.
const (
	Fair  = .10
	Level = .05
)

// Newcomers says how long after the second half of the nodes began to ask it had its half,
// within Fair.
func (r *Result) Newcomers() Steady {
	return r.Course.steady(r.Join, r.Length, short, Fair, func(tokens []int) float64 {
		late, all := 0, 0
		for i, n := range tokens {
			all += n
			if i >= r.Nodes/2 {
				late += n
			}
		}
		return off(late, float64(all)*float64(r.Nodes-r.Nodes/2)/float64(r.Nodes))
	})
}

// Each says how long it took until every single node had its share, within Fair, of what
// a window holds: a second, or 50 tokens of every node.
func (r *Result) Each() Steady {
	window := max(time.Second, time.Duration(50*float64(r.Nodes)/r.Limit.refill(time.Second)*float64(time.Second))).Truncate(grain)
	return r.Course.steady(r.Join, r.Length, window, Fair, func(tokens []int) float64 {
		all, worst := 0, 0.0
		for _, n := range tokens {
			all += n
		}
		for _, n := range tokens {
			worst = max(worst, off(n, float64(all)/float64(r.Nodes)))
		}
		return worst
	})
}

// Recovered says how long after Redis came back the flow was the rate again, within Level.
func (r *Result) Recovered() Steady {
	return r.Course.steady(r.Back, r.Length, short, Level, func(tokens []int) float64 {
		all := 0
		for _, n := range tokens {
			all += n
		}
		return off(all, r.Limit.refill(short))
	})
}

// AloneFlow is what was admitted while Redis was away, in parts of the rate: before the
// rule for that came into force, after MaxAge, and from then on.
func (r *Result) AloneFlow() (before, after float64) {
	turn := r.Away + maxAge
	part := func(from, to time.Duration) float64 {
		all := 0
		r.Course.windows(from, to, to-from, func(_ time.Duration, tokens []int) {
			for _, n := range tokens {
				all += n
			}
		})
		return float64(all) / r.Limit.refill(to-from)
	}
	return part(r.Away, turn), part(turn, r.Back)
}

// off is how far n is from what it should be, as a part of that.
func off(n int, want float64) float64 {
	if want == 0 {
		return 0
	}
	return math.Abs(float64(n)-want) / want
}
