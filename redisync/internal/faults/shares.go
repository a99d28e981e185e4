//go:build linux

package faults

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// shares is what nodes that Redis does not answer may admit beside the others, by the
// rule that each goes on with the N-th part of the budget: for each silence longer
// than MaxAge the N-th part of the capacity, and the N-th part of the rate for as long
// as it lasts while another node is answered. Nodes that are all without an answer
// have the rate together, and no more.
//
// Silences are seen at the links, so the bound holds for what happened, and not for
// what was meant to happen.
func (b *Bench) shares(r *Result) float64 {
	s := b.scenario
	if s.Mode != Credit || s.Away != "" || s.Expect.Asleep {
		return 0
	}
	type edge struct {
		at    int64
		nodes int
	}
	age := s.MaxAge
	if age == 0 {
		age = time.Second
	}
	var edges []edge
	many := 0
	for _, silences := range b.quiet {
		for _, q := range silences {
			// A node notices an answer a little after it has passed the link.
			if from, to := q.From+int64(age), q.To+int64(10*time.Millisecond); q.From != 0 && from < to {
				edges = append(edges, edge{from, 1}, edge{to, -1})
				many++
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	beside, silent, nodes := time.Duration(0), 0, len(b.quiet)
	for i, e := range edges {
		if i > 0 && silent < nodes {
			beside += time.Duration(int64(silent) * (e.at - edges[i-1].at))
		}
		silent += e.nodes
	}
	r.Silences = many
	if many > 0 {
		r.Rule += fmt.Sprintf(" + C/N of each of %d that went without an answer, and r/N while others had one", many)
	}
	return (float64(many)*float64(s.Limit.Capacity) + s.Limit.Refill(beside)) / float64(s.Nodes)
}

// silences returns those of each link within the run.
func (b *Bench) silences() [][]Silence {
	all := make([][]Silence, len(b.Links))
	for i, l := range b.Links {
		if b.left[i] == nil && !b.killed[i] {
			all[i] = l.Silences()
		}
	}
	return all
}
