package table

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes the table in Markdown, with a section for the targets,
// the peers that are ahead, the conditions, the figures and the memory.
func (t Table) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "## Targets\n\n%d of %d met.\n\n", len(t.Of(Pass)), len(t.Targets))
	var targets [][]string
	for _, x := range t.Targets {
		targets = append(targets, []string{x.Subject, x.Asked, x.Got, x.Verdict})
	}
	writeGrid(&out, []string{"what", "at most", "measured", "verdict"}, make([]bool, 4), targets)

	out.WriteString("\n## Where a peer is ahead\n\n")
	for _, line := range t.Ahead {
		fmt.Fprintf(&out, "- %s\n", line)
	}
	if len(t.Ahead) == 0 {
		out.WriteString("Nowhere among those measured.\n")
	}

	out.WriteString("\n## Conditions\n\n")
	for _, c := range t.Conditions.Shown() {
		fmt.Fprintf(&out, "- %s: %s\n", c.Key, c.Value)
	}
	fmt.Fprintf(&out, "\n%s\n\n", t.Method())
	for _, line := range Conduct() {
		fmt.Fprintf(&out, "- %s\n", line)
	}

	if len(t.Rows) > 0 {
		out.WriteString("\n## Figures\n\n")
		var rows [][]string
		for _, r := range t.Rows {
			rows = append(rows, r.Cells())
		}
		writeGrid(&out, Headings, numeric, rows)
	}
	if len(t.Memory) > 0 {
		out.WriteString("\n## Memory and collections\n\n")
		var rows [][]string
		for _, m := range t.Memory {
			rows = append(rows, m.cells())
		}
		writeGrid(&out, memoryHeadings, memoryNumeric, rows)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writeGrid writes one table of Markdown.
func writeGrid(out *bytes.Buffer, headings []string, numeric []bool, rows [][]string) {
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(escaped, " | "))
	}
	rules := make([]string, len(headings))
	for i := range headings {
		rules[i] = "---"
		if numeric[i] {
			rules[i] = "--:"
		}
	}
	line(headings)
	line(rules)
	for _, cells := range rows {
		line(cells)
	}
}
