package latency

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// WriteText writes the report for a terminal.
func WriteText(w io.Writer, r *Report) error {
	var b strings.Builder
	for _, f := range r.facts() {
		fmt.Fprintf(&b, "%-10s%s\n", f.Name, f.Value)
	}
	b.WriteByte('\n')
	rows := [][]string{append([]string{"NS", "CALLS"}, upper(names[:], "MAX")...)}
	for i := range r.Paths {
		rows = append(rows, r.Paths[i].rows()...)
	}
	table(&b, rows)
	b.WriteByte('\n')
	for _, line := range legend {
		b.WriteString(line + "\n")
	}
	if len(r.Targets) > 0 {
		b.WriteByte('\n')
	}
	for _, t := range r.Targets {
		fmt.Fprintf(&b, "%-8s%s: %s\n", t.Verdict, t.Name, t.Found)
		if t.Note != "" {
			fmt.Fprintf(&b, "%-8s%s\n", "", t.Note)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%-8s%s\n", "note", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// legend explains the rows.
var legend = []string{
	"A path's figures, and the empty loop's, are less the overhead. Empty loop: the same loop with nothing in the",
	"call's place, run in turns with the path; what it shows is the machine. Own: the path's quantile minus the empty",
	"loop's; negative where the machine's tail was the longer one there. A tail no longer than the machine's is not",
	"seen. -: fewer than 10 calls lie beyond.",
}

// fact is one line about a run.
type fact struct{ Name, Value string }

// facts says under what was measured, and how.
func (r *Report) facts() []fact {
	s := &r.Settings
	cpu := s.CPU
	if cpu == "" {
		cpu = "unknown"
	}
	pinned := "no, the thread that measures may move (--cpu)"
	if s.Pinned != nil {
		pinned = fmt.Sprintf("the thread that measures, to CPU %d", *s.Pinned)
	}
	load := "no load (--gc-load)"
	if s.LoadBytes > 0 {
		load = fmt.Sprintf("a heap of %d MiB collected meanwhile", s.LoadBytes>>20)
	}
	gogc := s.GOGC
	if gogc != "off" {
		gogc += "%"
	}
	arrivals := "closed loop: a call begins when the last one is done, so a stall counts as one slow call (--rate)"
	if s.Rate > 0 {
		arrivals = fmt.Sprintf("%s calls a second are due, and timed from when they were due: a stall counts for all it held up", numeral.Comma(s.Rate))
	}
	overhead := numeral.Comma(r.OverheadLeastNS)
	if r.OverheadMostNS > r.OverheadLeastNS {
		overhead += " to " + numeral.Comma(r.OverheadMostNS)
	}
	return []fact{
		{"go", s.Go},
		{"cpu", fmt.Sprintf("%s; %d CPUs, GOMAXPROCS %d", cpu, s.CPUs, s.MaxProcs)},
		{"pinned", pinned},
		{"gc", fmt.Sprintf("GOGC %s, GOMEMLIMIT %s, %s", gogc, memory(s.MemoryLimit), load)},
		{"clock", s.Clock + ": " + s.ClockReason},
		{"gate", numeral.Comma(int64(s.Keys)) + " live keys"},
		{"arrivals", arrivals},
		{"time", fmt.Sprintf("%v of calls a path, and as long of the empty loop", time.Duration(s.DurationNS))},
		{"overhead", overhead + " ns, what two readings of the clock and a call of nothing take: the empty loop's median, subtracted below"},
	}
}

// rows are the path's lines of the table.
func (p *Path) rows() [][]string {
	name := p.Name
	if p.Collections > 0 {
		name += ", " + numeral.Plural(int64(p.Collections), "collection")
	}
	path, empty, own := []string{name, numeral.Comma(p.Calls)}, []string{"  empty loop", numeral.Comma(p.EmptyCalls)}, []string{"  own", ""}
	for _, f := range p.Figures {
		if !f.Backed {
			path, empty, own = append(path, "-"), append(empty, "-"), append(own, "-")
			continue
		}
		path, empty, own = append(path, numeral.Comma(f.PathNS)), append(empty, numeral.Comma(f.EmptyNS)), append(own, numeral.Comma(f.OwnNS))
	}
	return [][]string{append(path, numeral.Comma(p.MaxNS)), append(empty, numeral.Comma(p.EmptyMaxNS)), append(own, "")}
}

func upper(names []string, more ...string) (out []string) {
	for _, n := range append(names[:len(names):len(names)], more...) {
		out = append(out, strings.ToUpper(n))
	}
	return out
}

// table prints rows in columns two spaces apart, all but the first set to the
// right.
func table(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line += cell + pad
			} else {
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// memory prints a number of bytes, given as the runtime's settings are.
func memory(bytes string) string {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return bytes
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
