package table

import (
	"fmt"
	"math"
	"slices"
)

// Table is the whole answer.
type Table struct {
	Conditions Conditions
	Samples    int      // of the figure with the fewest
	Rows       []Row    // every figure
	Memory     []Memory // what a key costs, one line per limiter
	Targets    []Target // in the order of the goals, then allocations where none is allowed
	Ahead      []string // where a peer is faster or smaller than tickgate
}

// Row is one figure. A ratio or a figure that was not measured is NaN.
type Row struct {
	Name                     string // of the benchmark
	Figure, Keys, Outcome, G string

	Ns      float64 // median
	Samples int
	Spread  float64 // the sample farthest from the median, as a fraction of it
	Allocs  float64

	Floor      string  // what FloorNs is the sum of, or ""
	FloorNs    float64 // the sum of its medians
	TimesFloor float64
	Peer       string // the fastest keyed peer on the same keys, or ""
	PeerNs     float64
	TimesPeer  float64
	Verdict    string

	timesClock float64 // TimesFloor with the reading of our own clock for the bare counter
	goal       *goal
}

// Family is the benchmark's function: Floor, Gate, Idem, Seed or Peer.
func (r Row) Family() string { return family(r.Name) }

// Field returns the value of a field of the benchmark's name, such as lib or path,
// or "".
func (r Row) Field(key string) string { return field(r.Name, key) }

// New puts measurements beside each other.
func New(m *Measurements) Table {
	t := Table{Conditions: m.Conditions, Samples: math.MaxInt, Memory: memoryOf(m)}
	for _, name := range inOrder(m.Names) {
		if _, ok := m.Figure(name, unitOf(m, name)); ok {
			t.add(m, name)
		}
	}
	if len(t.Rows) == 0 {
		t.Samples = 0
	}
	t.Targets = append(t.speedTargets(m), t.memoryTargets()...)
	t.Ahead = append(t.Ahead, t.smaller()...)
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
func unitOf(m *Measurements, name string) string {
	if _, ok := m.Figure(name, "ns/call"); ok {
		return "ns/call"
	}
	return "ns/op"
}

func (t *Table) add(m *Measurements, name string) {
	unit := unitOf(m, name)
	values := (*m.samples[name])[unit]
	t.Samples = min(t.Samples, len(values))
	r := Row{
		Name: name, Figure: figureOf(name), Keys: field(name, "keys"), Outcome: outcomeOf(m, name), G: field(name, "g"),
		Ns: median(values), Samples: len(values), Spread: spread(values), Allocs: math.NaN(),
		FloorNs: math.NaN(), TimesFloor: math.NaN(), timesClock: math.NaN(), PeerNs: math.NaN(), TimesPeer: math.NaN(),
	}
	if a, ok := m.Figure(name, "allocs/op"); ok {
		r.Allocs = a
	}
	if f := family(name); f == "Gate" || f == "Peer" {
		r.compare(m)
	}
	if g, ok := goalOf(name); ok {
		r.goal = &g
	}
	switch family(name) {
	case "Gate":
		r.Verdict = r.judge()
	case "Peer":
		r.Verdict = t.judgePeer(m, r)
	}
	t.Rows = append(t.Rows, r)
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
func outcomeOf(m *Measurements, name string) string {
	admitted, ok := m.Figure(name, "admitted")
	denied, also := m.Figure(name, "denied")
	if ok && also {
		return fmt.Sprintf("%.0f of %.0f", admitted, admitted+denied)
	}
	return field(name, "outcome")
}
