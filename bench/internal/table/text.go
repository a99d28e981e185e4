package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the table in columns for a terminal, with the conditions above
// and the notes below.
func (t Table) WriteText(w io.Writer) error {
	var out bytes.Buffer
	for _, c := range t.Conditions.Shown() {
		fmt.Fprintf(&out, "%s: %s\n", c.Key, c.Value)
	}
	fmt.Fprintf(&out, "%s\n\n", t.Method())

	if len(t.Rows) > 0 {
		rows := [][]string{Headings}
		for _, r := range t.Rows {
			rows = append(rows, r.Cells())
		}
		writeColumns(&out, rows, numeric)
	}
	if len(t.Memory) > 0 {
		rows := [][]string{memoryHeadings}
		for _, m := range t.Memory {
			rows = append(rows, m.cells())
		}
		out.WriteByte('\n')
		writeColumns(&out, rows, memoryNumeric)
	}
	for _, n := range t.Notes() {
		fmt.Fprintf(&out, "\n%s\n", n.Title)
		for _, item := range n.Items {
			fmt.Fprintf(&out, "  %s\n", item)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writeColumns aligns the cells, with the numeric columns flush right.
func writeColumns(out *bytes.Buffer, rows [][]string, numeric []bool) {
	var body bytes.Buffer
	tw := tabwriter.NewWriter(&body, 0, 0, 2, ' ', 0)
	widths := make([]int, len(numeric))
	for _, cells := range rows {
		for col, cell := range cells {
			widths[col] = max(widths[col], len(cell))
		}
	}
	for _, cells := range rows {
		padded := make([]string, len(cells))
		for col, cell := range cells {
			padded[col] = cell
			if numeric[col] {
				padded[col] = strings.Repeat(" ", widths[col]-len(cell)) + cell
			}
		}
		fmt.Fprintln(tw, strings.Join(padded, "\t"))
	}
	tw.Flush() // into memory: it cannot fail
	for line := range strings.Lines(body.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}
