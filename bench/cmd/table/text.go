package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// headings are the columns. "goal" belongs to the column on its left.
var headings = []string{
	"figure", "keys", "outcome", "g", "ns/op", "+/-", "allocs", "goal ns",
	"floor", "x floor", "goal", "fastest keyed peer", "x peer", "goal", "verdict",
}

// numeric says which columns are set flush right.
var numeric = []bool{
	false, true, false, true, true, true, true, true,
	false, true, true, false, true, true, false,
}

func (r row) cells() []string {
	goalNs, goalFloor, goalPeer := "", "", ""
	if g := r.goal; g != nil {
		goalNs = number(g.ns) + " met"
		if r.ns > g.ns {
			goalNs = number(g.ns) + " over"
		}
		goalFloor, goalPeer = ratio(g.floor), ratio(g.peer)
	}
	return []string{
		r.figure, r.keys, r.outcome, r.g, number(r.ns), fmt.Sprintf("%.0f%%", 100*r.spread), number(r.allocs), goalNs,
		r.floor, ratio(r.timesFloor), goalFloor, r.peer, ratio(r.timesPeer), goalPeer, r.verdict,
	}
}

// number prints three digits or the whole number, whichever is more; NaN is empty.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case v == math.Trunc(v), v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// ratio prints two decimals; NaN and zero are empty.
func ratio(v float64) string {
	if math.IsNaN(v) || v == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", v)
}

func writeText(w io.Writer, t table) error {
	var out bytes.Buffer
	for _, c := range t.conditions {
		if c.key != "pkg" {
			fmt.Fprintf(&out, "%s: %s\n", c.key, c.value)
		}
	}
	fmt.Fprintf(&out, "%s\n\n", t.method())

	var body bytes.Buffer
	tw := tabwriter.NewWriter(&body, 0, 0, 2, ' ', 0)
	rows := [][]string{slices.Clone(headings)}
	for _, r := range t.rows {
		rows = append(rows, r.cells())
	}
	flushRight(rows)
	for _, cells := range rows {
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(body.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	for _, n := range t.notes() {
		fmt.Fprintf(&out, "\n%s\n", n.title)
		for _, item := range n.items {
			fmt.Fprintf(&out, "  %s\n", item)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// flushRight pads the numeric columns on the left.
func flushRight(rows [][]string) {
	for col, right := range numeric {
		if !right {
			continue
		}
		width := 0
		for _, cells := range rows {
			width = max(width, len(cells[col]))
		}
		for _, cells := range rows {
			cells[col] = strings.Repeat(" ", width-len(cells[col])) + cells[col]
		}
	}
}
