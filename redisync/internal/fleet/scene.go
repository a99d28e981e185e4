package fleet

import (
	"errors"
	"time"
)

// Scene is what is played. All nodes share one key.
type Scene struct {
	Nodes  int // 2 to MaxNodes
	Seed   uint64
	Limit  Limit
	Credit int64 // b
	Load   Load
	Factor float64 // calls offered, in parts of the rate; not for Greedy

	Length time.Duration // of the load
	Join   time.Duration // when the second half of the nodes begins to ask; Greedy only
	Away   time.Duration // when Redis falls silent; 0: never
	Back   time.Duration // when it answers again
	Refuse bool          // while it is away calls fail at once, as where nobody listens
}

// step is how often the driver has nodes ask. Of greedy ones each has its turn in one of
// five, and so once in a ms.
const (
	step  = 200 * time.Microsecond
	turns = 5
)

// maxAge is the nodes' MaxAge.
const maxAge = time.Second

// callCost is how long the server is busy with a call.
const callCost = 15 * time.Microsecond

func (s *Scene) check() error {
	switch {
	case s.Nodes < 2 || s.Nodes > MaxNodes:
		return errors.New("fleet: Nodes must be 2 to 12,000")
	case s.Credit < 1 || s.Credit > s.Limit.Capacity:
		return errors.New("fleet: Credit must be 1 to the capacity")
	case s.Length < step || s.Join > s.Length || s.Away > s.Back || s.Back > s.Length:
		return errors.New("fleet: Join, Away and Back must lie in order within Length")
	case s.Load != Greedy && !(s.Factor > 0 && s.Factor < 100):
		return errors.New("fleet: Factor must be above 0 and below 100")
	}
	return nil
}

// Result is what came of a scene.
type Result struct {
	Scene

	Admitted  int64         // tokens
	Offered   int64         // calls; 0: Greedy
	Unsettled int64         // of those, denied for want of credit and not of tokens
	Excess    float64       // most tokens beyond C + r·τ in any window
	Calls     int           // for the budget, while there was load
	Beats     int           // heartbeats, likewise
	Wait      time.Duration // longest that a call waited for its turn at Redis
	Charged   int64         // tokens that Redis was told of, in the end
	Granted   int64         // by the rule for when Redis is away

	Course *Course
}

// Bound is the most that Excess may be: (N − 1)·b.
func (r *Result) Bound() int64 { return int64(r.Nodes-1) * r.Credit }

// Possible is how many tokens could have been admitted, of those there were or of the
// calls offered.
func (r *Result) Possible() float64 {
	all := float64(r.Limit.Capacity) + r.Limit.refill(r.Length)
	if r.Load != Greedy {
		all = min(all, float64(r.Offered))
	}
	return all
}

// CallsPerSecond is what Redis had to do, heartbeats included.
func (r *Result) CallsPerSecond() float64 { return float64(r.Calls+r.Beats) / r.Length.Seconds() }

// Busy is the part of the time that Redis was busy.
func (r *Result) Busy() float64 { return r.CallsPerSecond() * callCost.Seconds() }
