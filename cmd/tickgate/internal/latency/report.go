package latency

import (
	"encoding/json"
	"io"
	"math"
)

// Quantiles are the ones that are shown, as shares of the calls.
var Quantiles = [...]float64{0.50, 0.90, 0.99, 0.999, 0.9999}

// names are what they are called.
var names = [len(Quantiles)]string{"p50", "p90", "p99", "p99.9", "p99.99"}

// Places in Quantiles.
const atP50, atP999 = 0, 3

// Report is all that was measured.
type Report struct {
	Settings Settings `json:"settings"`
	// The empty loop's medians over the paths: what two readings of the clock and
	// a call cost. Every path has its own subtracted.
	OverheadLeastNS int64    `json:"overhead_least_ns"`
	OverheadMostNS  int64    `json:"overhead_most_ns"`
	Paths           []Path   `json:"paths"`
	Targets         []Target `json:"targets"`
	Notes           []string `json:"notes"` // what a reader must know before he believes a figure

	wanted int // keys that were put in
}

// Path is one path. Its times have the overhead subtracted, and are at least 0.
type Path struct {
	Name        string   `json:"name"`
	What        string   `json:"what"`
	Decisions   int      `json:"decisions_per_call"`
	Calls       int64    `json:"calls"`
	EmptyCalls  int64    `json:"empty_calls"`
	OverheadNS  int64    `json:"overhead_ns"` // the empty loop's median, subtracted
	Allocs      int64    `json:"allocs_per_call"`
	Collections uint64   `json:"gc_cycles"` // that ended while it was measured
	Wrong       int64    `json:"wrong_outcomes"`
	Late        int64    `json:"calls_late"`     // due before the last one was done
	Waiting     int64    `json:"calls_given_up"` // due, and not made in time
	Figures     []Figure `json:"figures"`
	MaxNS       int64    `json:"max_ns"`
	EmptyMaxNS  int64    `json:"empty_max_ns"`
	Curve       []Point  `json:"curve"` // finer, for plots
}

// Figure is one quantile of a path and of the empty loop beside it.
type Figure struct {
	Quantile float64 `json:"quantile"`
	PathNS   int64   `json:"path_ns"`
	EmptyNS  int64   `json:"empty_ns"`
	// OwnNS is the difference of the two quantiles. It is negative where the
	// machine's tail happened to be the longer one in the empty loop.
	OwnNS int64 `json:"own_ns"`
	// Backed says that at least 10 calls of each loop lie beyond.
	Backed bool `json:"backed"`
}

// Point is one point of a path's curve.
type Point struct {
	Quantile float64 `json:"quantile"`
	PathNS   int64   `json:"path_ns"`
	EmptyNS  int64   `json:"empty_ns"`
}

// curveStep is how many points a decade of 1/(1-q) has.
const curveStep = 8

// describe makes the figures of a sample.
func (s *sample) describe(p *path) Path {
	out := Path{
		Name: p.name, What: p.what, Decisions: p.decisions,
		Calls: s.path.calls(), EmptyCalls: s.empty.calls(), OverheadNS: s.empty.quantile(0.5),
		Allocs: s.allocs, Collections: s.collections, Wrong: s.wrong, Late: s.late, Waiting: s.waiting,
	}
	net := func(raw int64) int64 { return max(0, raw-out.OverheadNS) }
	for _, q := range Quantiles {
		a, b := s.path.quantile(q), s.empty.quantile(q)
		out.Figures = append(out.Figures, Figure{q, net(a), net(b), a - b, s.path.backs(q) && s.empty.backs(q)})
	}
	out.MaxNS, out.EmptyMaxNS = net(s.path.max), net(s.empty.max)
	for i := 0; ; i++ {
		q := 1 - math.Pow(10, -float64(i)/curveStep)
		if !s.path.backs(q) || !s.empty.backs(q) {
			return out
		}
		out.Curve = append(out.Curve, Point{math.Round(q*1e7) / 1e7, net(s.path.quantile(q)), net(s.empty.quantile(q))})
	}
}

// WriteJSON writes the report as one indented JSON object and a line end.
func WriteJSON(w io.Writer, r *Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
