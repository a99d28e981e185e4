package main

import (
	"fmt"
	"math"
	"strings"
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

const (
	pass        = "pass"
	miss        = "miss"
	noReference = "no reference"
)

// judge is pass or miss for a figure with a target, noReference when what it is
// to be compared with was not measured, and otherwise "" unless the path
// allocates, which none may.
func (r row) judge() string {
	if r.allocs > 0 {
		return miss
	}
	g := r.goal
	switch {
	case g == nil:
		return ""
	case g.floor > 0 && math.IsNaN(r.timesFloor), g.peer > 0 && math.IsNaN(r.timesPeer):
		return noReference
	case g.floor > 0 && r.timesFloor > g.floor, g.peer > 0 && r.timesPeer > g.peer:
		return miss
	case g.floor == 0 && g.peer == 0 && r.ns > g.ns:
		return miss
	}
	return pass
}

// missed says what a missed target was.
func (r row) missed() string {
	s := r.title() + ": "
	if r.allocs > 0 {
		return s + fmt.Sprintf("%s allocations an op, target 0", number(r.allocs))
	}
	switch {
	case r.goal.floor > 0:
		s += fmt.Sprintf("%.2f x (%s)", r.timesFloor, r.floor)
		if !math.IsNaN(r.timesClock) {
			s += fmt.Sprintf(", %.2f x with an ordered reading of our clock for rdtsc", r.timesClock)
		}
	case r.goal.peer > 0:
		s += fmt.Sprintf("%.2f x %s", r.timesPeer, r.peer)
	default:
		s += number(r.ns) + " ns"
	}
	return s + ", target " + r.goal.String()
}

// title names the row in a sentence.
func (r row) title() string {
	return fmt.Sprintf("%s, keys %s, %s, g=%s", r.figure, r.keys, r.outcome, r.g)
}

// judgePeer says which keyed peer is the fastest of its load, and whether a
// peer is faster than tickgate: a keyed one than Gate.Allow, which does the
// same work, and one with a single bucket than Handle.Allow.
func (t *table) judgePeer(m *measurements, name string, r row) string {
	lib := field(name, "lib")
	path, words := "gate", []string{}
	if unkeyed[lib] {
		path, words = "handle", []string{"one bucket"}
	} else if r.timesPeer == 1 {
		words = append(words, "fastest peer")
	}
	for _, clock := range []string{"tsc", "runtime"} {
		ours := fmt.Sprintf("Gate/path=%s/clock=%s/keys=%s/outcome=%s/g=%s", path, clock, r.keys, r.outcome, r.g)
		ns, ok := m.figure(ours, "ns/op")
		if !ok {
			continue
		}
		if r.ns < ns {
			words = append(words, "faster than "+path)
			t.faster = append(t.faster, fmt.Sprintf("%s: %s ns, %s %s ns", r.title(), number(r.ns), figureOf(ours), number(ns)))
		}
		break
	}
	return strings.Join(words, ", ")
}
