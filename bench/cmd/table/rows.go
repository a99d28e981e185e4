package main

import (
	"fmt"
	"math"
	"slices"
)

// table is the whole answer: the rows, and what is said below them.
type table struct {
	conditions conditions
	samples    int // of the figure with the fewest
	rows       []row
	met        int      // targets that were met
	missed     []string // targets that were missed, with both figures
	absent     []string // figures with a target that were not measured
	faster     []string // peers that are faster than tickgate
}

// row is one figure.
type row struct {
	figure, keys, outcome, g string

	ns, spread float64
	allocs     float64 // NaN: not measured

	floor      string // label
	timesFloor float64
	timesClock float64 // timesFloor with the reading of our own clock for the bare counter; NaN: no counter in it
	peer       string  // the fastest keyed peer on the same keys
	timesPeer  float64

	goal    *goal
	verdict string
}

func newTable(m *measurements) table {
	t := table{conditions: m.conditions, samples: math.MaxInt}
	for _, name := range inOrder(m.names) {
		if _, ok := m.figure(name, unitOf(m, name)); ok {
			t.add(m, name)
		}
	}
	for name, g := range goals {
		if _, ok := m.figure(name, "ns/op"); !ok {
			t.absent = append(t.absent, fmt.Sprintf("%s (target %s)", name, g))
		}
	}
	slices.Sort(t.absent)
	return t
}

// inOrder sorts names by family and leaves them otherwise in order of the input.
func inOrder(names []string) []string {
	order := map[string]int{"Floor": 1, "Gate": 2, "Idem": 3, "Seed": 4, "Peer": 5}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return order[family(a)] - order[family(b)] })
	return slices.DeleteFunc(names, func(n string) bool { return order[family(n)] == 0 })
}

// unitOf is ns/op, but ns/call where an op is many calls.
func unitOf(m *measurements, name string) string {
	if _, ok := m.figure(name, "ns/call"); ok {
		return "ns/call"
	}
	return "ns/op"
}

func (t *table) add(m *measurements, name string) {
	unit := unitOf(m, name)
	values := (*m.samples[name])[unit]
	t.samples = min(t.samples, len(values))
	r := row{
		figure: figureOf(name), keys: field(name, "keys"), outcome: outcomeOf(m, name), g: field(name, "g"),
		ns: median(values), spread: spread(values),
		allocs: math.NaN(), timesFloor: math.NaN(), timesClock: math.NaN(), timesPeer: math.NaN(),
	}
	if a, ok := m.figure(name, "allocs/op"); ok {
		r.allocs = a
	}
	if f := family(name); f == "Gate" || f == "Peer" {
		r.compare(m, name)
	}
	if g, ok := goals[name]; ok {
		r.goal = &g
	}
	switch family(name) {
	case "Gate":
		r.verdict = r.judge()
		switch r.verdict {
		case pass:
			t.met++
		case miss:
			t.missed = append(t.missed, r.missed())
		case noReference:
			t.absent = append(t.absent, fmt.Sprintf("what %s is compared with (target %s)", name, r.goal))
		}
	case "Peer":
		r.verdict = t.judgePeer(m, name, r)
	}
	t.rows = append(t.rows, r)
}

// compare fills in the ratios to the floor and to the fastest keyed peer.
func (r *row) compare(m *measurements, name string) {
	if label, terms := floorOf(name); label != "" {
		r.floor, r.timesFloor = label, r.ns/sum(m, terms)
		if i := slices.Index(terms, bareCounter); i >= 0 {
			terms = slices.Clone(terms)
			terms[i] = ownClock
			r.timesClock = r.ns / sum(m, terms)
		}
	}
	if r.floor == oneLimitLabel {
		return // what no peer does
	}
	if lib, ns := fastestPeer(m, name); lib != "" {
		r.peer, r.timesPeer = fmt.Sprintf("%s %s", lib, number(ns)), r.ns/ns
	}
}

// sum adds the medians up. It is NaN when one was not measured.
func sum(m *measurements, terms []string) float64 {
	total := 0.0
	for _, t := range terms {
		v, ok := m.figure(t, "ns/op")
		if !ok {
			return math.NaN()
		}
		total += v
	}
	return total
}

// fastestPeer returns the fastest keyed peer with the keys, the outcome and the
// goroutines of the figure, or "".
func fastestPeer(m *measurements, name string) (lib string, ns float64) {
	for _, other := range m.names {
		l := field(other, "lib")
		if family(other) != "Peer" || unkeyed[l] || !sameLoad(name, other) {
			continue
		}
		if v, ok := m.figure(other, "ns/op"); ok && (lib == "" || v < ns) {
			lib, ns = l, v
		}
	}
	return lib, ns
}

func sameLoad(a, b string) bool {
	for _, key := range []string{"keys", "outcome", "g"} {
		if field(a, key) != field(b, key) {
			return false
		}
	}
	return true
}

// figureOf is the name of the row.
func figureOf(name string) string {
	switch family(name) {
	case "Floor":
		f := "floor " + field(name, "op")
		if v := field(name, "bytes"); v != "" {
			f += ", " + v + " bytes"
		}
		if v := field(name, "table"); v != "" {
			f += " of " + v
		}
		return f
	case "Gate":
		f := field(name, "path")
		if c := field(name, "clock"); c != "caller" {
			f += ", " + c
		}
		return f
	case "Idem":
		return "idem " + field(name, "op")
	case "Seed":
		return "seed " + field(name, "case")
	}
	return "peer " + field(name, "lib")
}

// outcomeOf is allow or deny, or how many of how many calls passed.
func outcomeOf(m *measurements, name string) string {
	admitted, ok := m.figure(name, "admitted")
	denied, also := m.figure(name, "denied")
	if ok && also {
		return fmt.Sprintf("%.0f of %.0f", admitted, admitted+denied)
	}
	return field(name, "outcome")
}
