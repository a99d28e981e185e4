package table

import (
	"fmt"
	"math"
)

// Target is one thing that was asked for, and what came of it.
type Target struct {
	Subject string // what is measured
	Asked   string // the bound, with its unit
	Got     string // the figure it is compared with the bound, or ""
	Verdict string // Pass, Miss or NotMeasured

	// Share is the figure divided by the bound, at most 1 for Pass; NaN where
	// there is none. Of several bounds it is the share of the worst.
	Share float64
}

// Of returns the targets with a verdict.
func (t Table) Of(verdict string) []Target {
	var some []Target
	for _, x := range t.Targets {
		if x.Verdict == verdict {
			some = append(some, x)
		}
	}
	return some
}

// String is the target in a sentence.
func (t Target) String() string {
	if t.Verdict == NotMeasured {
		return fmt.Sprintf("%s (target %s)", t.Subject, t.Asked)
	}
	return fmt.Sprintf("%s: %s, target %s", t.Subject, t.Got, t.Asked)
}

// speedTargets are those of the goals, and a missed one for each other path that
// allocates.
func (t Table) speedTargets(m *Measurements) []Target {
	var all []Target
	rows := map[string]Row{}
	for _, r := range t.Rows {
		rows[r.Name] = r
	}
	for _, g := range goals {
		r, ok := rows[g.name]
		if !ok {
			all = append(all, Target{Subject: titleOf(g.name), Asked: g.String(), Verdict: NotMeasured, Share: math.NaN()})
			continue
		}
		all = append(all, r.target(g.goal))
	}
	for _, r := range t.Rows {
		if r.goal == nil && r.Verdict == Miss {
			all = append(all, r.target(goal{}))
		}
	}
	return all
}

// target says what came of the goal.
func (r Row) target(g goal) Target {
	x := Target{Subject: r.Title(), Asked: g.String(), Verdict: r.Verdict, Share: math.NaN()}
	if r.Allocs > 0 {
		x.Asked, x.Got = "0", Number(r.Allocs)+" allocations an op"
		return x
	}
	if r.Verdict == NotMeasured {
		x.Subject = "what " + r.Title() + " is compared with"
		return x
	}
	x.Share = max(share(r.TimesFloor, g.floor), share(r.TimesPeer, g.peer))
	switch {
	case g.floor > 0:
		x.Got = fmt.Sprintf("%.2f x (%s)", r.TimesFloor, r.Floor)
		if x.Verdict == Miss && !math.IsNaN(r.timesClock) {
			x.Got += fmt.Sprintf(", %.2f x with an ordered reading of our clock for rdtsc", r.timesClock)
		}
	case g.peer > 0:
		x.Got = fmt.Sprintf("%.2f x %s %s", r.TimesPeer, r.Peer, Number(r.PeerNs))
	default:
		x.Got, x.Share = Number(r.Ns)+" ns", r.Ns/g.ns
	}
	return x
}

// share is zero without a bound.
func share(ratio, bound float64) float64 {
	if bound == 0 {
		return 0
	}
	return ratio / bound
}
