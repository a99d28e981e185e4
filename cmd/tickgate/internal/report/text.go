package report

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

const (
	// textRows bounds the endpoints a table on a terminal lists. The JSON form
	// lists all.
	textRows = 100
	// textWorst bounds the endpoints whose worst keys are listed.
	textWorst = 20
)

// WriteText writes the report as plain text for a terminal of any width.
func WriteText(w io.Writer, r *Report) error {
	var b strings.Builder
	r.head(&b)
	b.WriteByte('\n')
	r.endpointTable(&b)
	if r.Total.Denied > 0 {
		b.WriteByte('\n')
		r.worstTable(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) head(b *strings.Builder) {
	line := func(label, text string) {
		b.WriteString(label)
		b.WriteString(strings.Repeat(" ", max(1, 10-len(label))))
		b.WriteString(text)
		b.WriteByte('\n')
	}
	line("replayed", numeral.Plural(r.Total.Requests, "request")+", "+r.span())
	for i, in := range r.Inputs {
		label := "input"
		if i > 0 {
			label = ""
		}
		line(label, in.describe())
	}
	if r.Venue != nil {
		for i, text := range r.Venue.lines() {
			line([]string{"venue", ""}[min(i, 1)], text)
		}
	}
	for i, p := range r.Policies {
		label := "policy"
		if i > 0 {
			label = ""
		}
		line(label, p.Endpoint+": "+strings.Join(p.Limits, "; "))
	}
	if r.Total.Denied > 0 {
		line("denied", reasons(r.Total.Reasons))
	}
	if n := r.Gate.ForcedEvictions; n > 0 {
		line("note", numeral.Plural(n, "key")+" were dropped before they had recovered: raise --max-keys (now "+numeral.Comma(r.Gate.MaxKeys)+")")
	}
}

func (in *Input) describe() string {
	parts := []string{numeral.Plural(in.Lines, "line"), numeral.Plural(in.Requests, "request")}
	if in.Skipped > 0 {
		parts = append(parts, numeral.Comma(in.Skipped)+" no request")
	}
	if in.Malformed > 0 {
		parts = append(parts, numeral.Comma(in.Malformed)+" malformed")
	}
	if in.Backwards > 0 {
		parts = append(parts, numeral.Comma(in.Backwards)+" backwards in time")
	}
	return in.File + " (" + in.Format + "): " + strings.Join(parts, ", ")
}

// reasons lists why requests were denied, most frequent first.
func reasons(m map[string]int64) string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = name + " " + numeral.Comma(m[name])
	}
	return strings.Join(names, ", ")
}

func (r *Report) endpointTable(b *strings.Builder) {
	rows := [][]string{{"ENDPOINT", "REQUESTS", "ALLOWED", "DENIED", "DENY RATE", "PEAK IN 1 S", "LONGEST RUN OF DENIALS"}}
	for _, e := range r.Endpoints[:min(textRows, len(r.Endpoints))] {
		rows = append(rows, e.cells(e.Endpoint))
	}
	rows = append(rows, r.Total.cells("total"))
	table(b, "lrrrrrl", rows)
	if more := len(r.Endpoints) - textRows; more > 0 {
		b.WriteString("and " + numeral.Plural(int64(more), "endpoint") + " more: --json lists all\n")
	}
}

func (row *Row) cells(name string) []string {
	run := "none"
	if row.LongestRun.Length > 0 {
		run = numeral.Comma(row.LongestRun.Length) + " by " + row.LongestRun.Key
		if row.Endpoint == "" {
			run += " on " + row.LongestRun.Endpoint
		}
	}
	return []string{name, numeral.Comma(row.Requests), numeral.Comma(row.Allowed), numeral.Comma(row.Denied), percent(row.DenyRate), numeral.Comma(row.Peak), run}
}

func (r *Report) worstTable(b *strings.Builder) {
	rows := [][]string{{"WORST KEYS ON", "KEY", "DENIED", "SHARE OF DENIALS", "REQUESTS"}}
	left := 0
	list := func(name string, row *Row) {
		for i, k := range row.WorstKeys {
			if i > 0 {
				name = ""
			}
			rows = append(rows, []string{name, k.Key, numeral.Comma(k.Denied), percent(k.Share), numeral.Comma(k.Requests)})
		}
	}
	list("total", &r.Total)
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		switch {
		case e.Denied == 0:
		case i < textWorst:
			list(e.Endpoint, e)
		default:
			left++
		}
	}
	table(b, "llrrr", rows)
	if left > 0 {
		b.WriteString("and those of " + numeral.Plural(int64(left), "endpoint") + " more: --json lists all\n")
	}
}
