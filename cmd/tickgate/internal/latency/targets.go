package latency

import (
	"fmt"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// tailBound is how many times its median a path's own p99.9 may be, where it has
// a target: the handle with the caller's time, which reads no clock and looks for
// no key, so that nothing of its own can take long.
const tailBound = 3

// queueing is the share of calls that may begin late before a path's times are
// those of a queue. A stall of the machine makes some calls late too.
const queueing = 0.25

// plain is how many times the machine's tail a path's own must be to be told from
// it where both are longer than a target allows.
const plain = 10

// The verdicts on a target.
const (
	Passed = "passed"
	Missed = "missed"
	Open   = "open" // cannot be told from this run; the note says why
)

// Target is one promise, held against what was measured. Targets are ratios or
// counts: they hold on every machine or are missed there.
type Target struct {
	Name    string `json:"name"`
	Found   string `json:"found"`
	Verdict string `json:"verdict"`
	Note    string `json:"note,omitempty"`
}

// judge holds a report's paths against the targets.
func judge(paths []Path, rate int64) (out []Target) {
	for i := range paths {
		if p := &paths[i]; p.Name == handleAt || p.Name == handleAtDeny {
			out = append(out, p.judgeTail(rate))
		}
	}
	if len(paths) > 0 {
		out = append(out, judgeAllocs(paths))
	}
	return out
}

func (p *Path) judgeTail(rate int64) Target {
	median, tail := p.Figures[atP50].PathNS, p.Figures[atP999]
	t := Target{
		Name:  fmt.Sprintf("%s: own p99.9 at most %d x p50", p.Name, tailBound),
		Found: fmt.Sprintf("p99.9 %s - empty loop %s = %s ns, p50 %s ns", numeral.Comma(tail.PathNS), numeral.Comma(tail.EmptyNS), numeral.Comma(tail.OwnNS), numeral.Comma(median)),
	}
	switch {
	case !tail.Backed:
		t.Verdict, t.Note = Open, "too few calls beyond p99.9: measure longer"
		return t
	case median == 0:
		t.Verdict, t.Note = Open, "the median is below what the clock can tell"
		return t
	case p.queued():
		t.Verdict, t.Note = Open, "the path did not keep up with the rate: its times are those of a queue"
		return t
	}
	bound := tailBound * median
	if tail.OwnNS >= 0 {
		t.Found += fmt.Sprintf(", %.2f x", float64(tail.OwnNS)/float64(median))
	}
	switch {
	case tail.EmptyNS > bound && tail.OwnNS <= plain*tail.EmptyNS:
		// A small difference of two large times says nothing about a small one.
		t.Verdict, t.Note = Open, fmt.Sprintf("the machine's tail alone is above %d x p50: stop what else runs, use --cpu", tailBound)
	case tail.OwnNS > bound:
		t.Verdict = Missed
		if rate > 0 {
			t.Note = "with a rate, one stall of the machine is in all the calls it held up: compare with other runs, and without --rate"
		}
	default:
		t.Verdict = Passed
	}
	return t
}

// queued says whether calls waited for others so often that their times tell
// more about the rate than about the path.
func (p *Path) queued() bool {
	return p.Waiting > 0 || float64(p.Late) > queueing*float64(p.Calls)
}

func judgeAllocs(paths []Path) Target {
	t := Target{Name: "no allocation on any path", Found: "none", Verdict: Passed}
	var found []string
	for i := range paths {
		if p := &paths[i]; p.Allocs > 0 {
			found = append(found, fmt.Sprintf("%s %d a call", p.Name, p.Allocs))
		}
	}
	if len(found) > 0 {
		t.Found, t.Verdict = strings.Join(found, ", "), Missed
	}
	return t
}

// notes says what a reader must know before he believes a figure.
func (r *Report) notes() []string {
	out := []string{}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i := range r.Paths {
		p := &r.Paths[i]
		if p.Wrong > 0 {
			add("%s: %s of %s calls were not decided as they must be: do not use its figures, and report it", p.Name, numeral.Comma(p.Wrong), numeral.Comma(p.Calls))
		}
		switch {
		case p.Waiting > 0:
			add("%s cannot keep up with %s calls a second: measuring it was given up, and %s calls that were waiting count with the time they had waited", p.Name, numeral.Comma(r.Settings.Rate), numeral.Comma(p.Waiting))
		case p.queued():
			add("%s: %s of %s calls were due before the last one was done: at %s calls a second its times are those of a queue", p.Name, numeral.Comma(p.Late), numeral.Comma(p.Calls), numeral.Comma(r.Settings.Rate))
		}
		if p.OverheadNS == 0 && p.EmptyCalls > 0 {
			add("%s: the clock moves in steps longer than a reading of it; figures are no finer than such a step", p.Name)
		}
	}
	if r.Settings.MaxProcs == 1 && r.Settings.LoadBytes > 0 {
		add("GOMAXPROCS is 1: the load and the collector take turns with the calls, and the figures are those of the scheduler")
	}
	if n := r.Settings.Keys; n < r.wanted {
		add("the gate holds %s keys, not the %s that were put in", numeral.Comma(int64(n)), numeral.Comma(int64(r.wanted)))
	}
	return out
}
