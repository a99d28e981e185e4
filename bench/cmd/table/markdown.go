package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

func writeMarkdown(w io.Writer, t table) error {
	var out bytes.Buffer
	for _, c := range t.conditions {
		if c.key != "pkg" {
			fmt.Fprintf(&out, "- %s: %s\n", c.key, c.value)
		}
	}
	fmt.Fprintf(&out, "\n%s\n\n", t.method())

	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
	}
	rules := make([]string, len(headings))
	for i, right := range numeric {
		rules[i] = "---"
		if right {
			rules[i] = "--:"
		}
	}
	line(append([]string(nil), headings...))
	line(rules)
	for _, r := range t.rows {
		line(r.cells())
	}
	for _, n := range t.notes() {
		fmt.Fprintf(&out, "\n%s\n", n.title)
		if len(n.items) > 0 {
			out.WriteByte('\n')
		}
		for _, item := range n.items {
			fmt.Fprintf(&out, "- %s\n", item)
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}
