package table

import (
	"fmt"
	"math"
	"strings"
)

// The verdicts of a figure with a target.
const (
	Pass        = "pass"
	Miss        = "miss"
	NotMeasured = "not measured" // the figure, or what it is to be compared with
)

// String lists the targets of a goal.
func (g goal) String() string {
	var parts []string
	if g.floor > 0 {
		parts = append(parts, fmt.Sprintf("%.4g x floor", g.floor))
	}
	if g.peer > 0 {
		parts = append(parts, fmt.Sprintf("%.4g x fastest keyed peer", g.peer))
	}
	if len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("%.4g ns", g.ns))
	}
	return strings.Join(parts, " and ")
}

// judge is the verdict of a figure with a target, and Miss for every path that
// allocates, which none may.
func (r Row) judge() string {
	if r.Allocs > 0 {
		return Miss
	}
	g := r.goal
	switch {
	case g == nil:
		return ""
	case g.floor > 0 && math.IsNaN(r.TimesFloor), g.peer > 0 && math.IsNaN(r.TimesPeer):
		return NotMeasured
	case g.floor > 0 && r.TimesFloor > g.floor, g.peer > 0 && r.TimesPeer > g.peer:
		return Miss
	case g.floor == 0 && g.peer == 0 && r.Ns > g.ns:
		return Miss
	}
	return Pass
}

// Title names the row in a sentence.
func (r Row) Title() string { return titleOf(r.Name) }

func titleOf(name string) string {
	return fmt.Sprintf("%s, keys %s, %s, g=%s", figureOf(name), field(name, "keys"), field(name, "outcome"), field(name, "g"))
}

// judgePeer says which keyed peer is the fastest of its load, and whether a
// peer is faster than tickgate: a keyed one than Gate.Allow, which does the
// same work, and one with a single bucket than Handle.Allow.
func (t *Table) judgePeer(m *Measurements, r Row) string {
	lib := r.Field("lib")
	path, words := "gate", []string{}
	if unkeyed[lib] {
		path, words = "handle", []string{"one bucket"}
	} else if r.TimesPeer == 1 {
		words = append(words, "fastest peer")
	}
	for _, clock := range []string{"tsc", "runtime"} {
		ours := fmt.Sprintf("Gate/path=%s/clock=%s/keys=%s/outcome=%s/g=%s", path, clock, r.Keys, r.Outcome, r.G)
		ns, ok := m.Figure(ours, "ns/op")
		if !ok {
			continue
		}
		if r.Ns < ns {
			words = append(words, "faster than "+path)
			line := fmt.Sprintf("%s: %s ns, %s %s ns", r.Title(), Number(r.Ns), figureOf(ours), Number(ns))
			if spread := max(r.Spread, spread((*m.samples[ours])["ns/op"])); ns-r.Ns <= spread*ns {
				line += fmt.Sprintf(" (no more than the samples differ, %.0f%%)", 100*spread)
			}
			t.Ahead = append(t.Ahead, line)
		}
		break
	}
	return strings.Join(words, ", ")
}
