package table

// goal is the target of one figure. The ratios decide: they hold on any
// machine. The nanoseconds were set on one machine (two virtual cores of a Zen 3
// under KVM, Go 1.26) and decide only where there is no ratio.
type goal struct {
	ns    float64 // at most so many ns/op on that machine
	floor float64 // at most so many times the floor of the row; 0: no such target
	peer  float64 // at most so many times the fastest keyed peer; 0: no such target
}

// namedGoal is the target of one benchmark.
type namedGoal struct {
	name string
	goal
}

// goals are the targets of speed, in the order in which they are told. Every one
// of them also asks for no allocation.
var goals = []namedGoal{
	{"Gate/path=handle-at/clock=caller/keys=1/outcome=allow/g=1", goal{ns: 6, floor: 2}},
	{"Gate/path=handle/clock=tsc/keys=1/outcome=allow/g=1", goal{ns: 16, floor: 1.15}},
	{"Gate/path=endpoint/clock=tsc/keys=1/outcome=allow/g=1", goal{ns: 40, floor: 1.35}},
	{"Gate/path=gate/clock=tsc/keys=1/outcome=allow/g=1", goal{ns: 45, peer: 0.6}},
	{"Gate/path=gate/clock=tsc/keys=10k/outcome=allow/g=1", goal{ns: 75, peer: 0.65}},
	{"Gate/path=gate/clock=tsc/keys=1M/outcome=allow/g=1", goal{ns: 500, peer: 0.65}},
	{"Gate/path=batch/clock=tsc/keys=1M/outcome=allow/g=1", goal{ns: 140, floor: 0.35}},
	{"Gate/path=handle/clock=tsc/keys=1/outcome=deny/g=2", goal{ns: 20}},
	{"Gate/path=first-seen/clock=tsc/keys=room/outcome=allow/g=1", goal{ns: 400}},
	{"Gate/path=first-seen/clock=tsc/keys=pressure/outcome=allow/g=1", goal{ns: 400}},
	{"Gate/path=two-limits/clock=caller/keys=1/outcome=allow/g=1", goal{ns: 10, floor: 1.6}},
	{"Gate/path=aligned/clock=caller/keys=1/outcome=allow/g=1", goal{ns: 9, floor: 1.5}},
	{"Gate/path=rolling-10/clock=caller/keys=1/outcome=allow/g=1", goal{ns: 18, floor: 3}},
	{"Gate/path=join-3/clock=caller/keys=1/outcome=allow/g=1", goal{ns: 21, floor: 3.5}},
}

// goalOf returns the target of a benchmark, and whether it has one.
func goalOf(name string) (goal, bool) {
	for _, g := range goals {
		if g.name == name {
			return g.goal, true
		}
	}
	return goal{}, false
}

// unkeyed are the peers with one bucket for all callers: they do less than a
// limiter with keys, and are never the fastest keyed peer.
var unkeyed = map[string]bool{"uber": true}

const (
	bareCounter = "Floor/op=rdtsc/g=1"
	ownClock    = "Floor/op=tsc-now/g=1"

	// oneLimit is the same call with one token bucket, as the floor of the paths of
	// trading.
	oneLimitLabel = "one limit"
	oneLimit      = "Gate/path=one-limit/clock=caller/keys=1/outcome=allow/g=1"
)

// floorOf returns what the figure is compared with: a label, and the names of
// the benchmarks whose medians are added up. A denial writes nothing, so its
// floor has no compare-and-swap. There is no floor for a first-seen key.
func floorOf(name string) (label string, terms []string) {
	add := func(l, term string) {
		if label != "" {
			label += "+"
		}
		label += l
		terms = append(terms, term)
	}
	path, g := field(name, "path"), field(name, "g")
	switch path {
	case "batch":
		return "one at a time", []string{
			"Gate/path=gate/clock=" + field(name, "clock") + "/keys=" + field(name, "keys") + "/outcome=" + field(name, "outcome") + "/g=" + g,
		}
	case "two-limits", "six-limits", "aligned", "from-first", "rolling-10", "rolling-1000", "rate-and-rolling", "join-3", "join-3-aligned",
		"on-credit", "on-lease":
		return oneLimitLabel, []string{oneLimit}
	case "handle-at", "handle", "endpoint", "gate", "gate-copies":
	default:
		return "", nil
	}
	switch field(name, "clock") {
	case "tsc":
		add("rdtsc", bareCounter)
	case "runtime":
		add("runtime", "Floor/op=runtime/g=1")
	}
	switch path {
	case "endpoint":
		add("hash", "Floor/op=xxhash/bytes=24/g=1")
	case "gate", "gate-copies":
		add("2 hashes", "Floor/op=xxhash/bytes=24+9/g=1")
	}
	if field(name, "outcome") == "allow" {
		add("cas", "Floor/op=cas/g="+g)
	}
	return label, terms
}
