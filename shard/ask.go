package shard

import "github.com/tickgate/tickgate/bucket"

// Ask is what a take asks for.
type Ask struct {
	N      int64 // tokens of every limit; 0 looks without taking
	Urgent bool  // may use reserves and passes blocks
	Leave  bool  // leaves the key's limits out, but not what bars it

	// Costs are the tokens of single limits, by name, where they are not N. A name
	// that the policy has no limit for is a BadAsk: a limit would go uncounted.
	Costs []Cost
}

// Cost is what a request costs on one limit.
type Cost struct {
	Limit string // its name
	N     int64  // tokens, at least 0
}

// of returns what limit k of the plan is asked for.
func (a *Ask) of(plan *bucket.Plan, k int) int64 {
	for i := range a.Costs {
		if a.Costs[i].Limit == plan.CostName(k) {
			return a.Costs[i].N
		}
	}
	return a.N
}

// known reports whether every cost is for a limit of the plan, once, and none is
// negative.
func (a *Ask) known(plan *bucket.Plan) bool {
	for i, c := range a.Costs {
		found := false
		for _, k := range plan.Active {
			found = found || plan.CostName(k) == c.Limit
		}
		for _, other := range a.Costs[:i] {
			found = found && other.Limit != c.Limit
		}
		if !found || c.N < 0 {
			return false
		}
	}
	return true
}

// takes reports whether anything is asked for.
func (a *Ask) takes() bool {
	if a.N > 0 {
		return true
	}
	for i := range a.Costs {
		if a.Costs[i].N > 0 {
			return true
		}
	}
	return false
}
