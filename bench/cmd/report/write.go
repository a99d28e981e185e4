package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tickgate/tickgate/bench/internal/table"
)

// write reads the results in a folder and writes the report of them beside, and
// the table on stdout.
func write(out string, stdout, stderr io.Writer) error {
	m, err := readRaw(out)
	if err != nil {
		return err
	}
	t := table.New(m)
	var md, page bytes.Buffer
	if err := writeMarkdown(&md, t); err != nil {
		return err
	}
	if err := writeHTML(&page, t); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{"report.md", md.Bytes()}, {"report.html", page.Bytes()}} {
		path := filepath.Join(out, f.name)
		if err := os.WriteFile(path, f.text, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stderr, "written:", path)
	}
	return t.WriteText(stdout)
}

// readRaw reads all results in a folder.
func readRaw(out string) (*table.Measurements, error) {
	files, err := rawFiles(out)
	if err != nil {
		return nil, err
	}
	m := table.NewMeasurements()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := m.Read(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(m.Names) == 0 {
		return nil, fmt.Errorf("no results in %s: measure first, without -again", filepath.Join(out, "raw"))
	}
	return m, nil
}

const title = "Benchmarks of tickgate"

// writeMarkdown writes the report in Markdown.
func writeMarkdown(w io.Writer, t table.Table) error {
	fmt.Fprintf(w, "# %s\n\n", title)
	for _, warning := range warnings(t.Conditions) {
		fmt.Fprintf(w, "**%s**\n\n", warning)
	}
	fmt.Fprintf(w, "%s\n\n", summary(t))
	return t.WriteMarkdown(w)
}

// summary is the answer in two sentences.
func summary(t table.Table) string {
	s := fmt.Sprintf("Targets: %d met, %d missed, %d not measured.", len(t.Of(table.Pass)), len(t.Of(table.Miss)), len(t.Of(table.NotMeasured)))
	if n := len(t.Ahead); n > 0 {
		return s + fmt.Sprintf(" A peer is ahead in %d of the comparisons, listed below.", n)
	}
	return s + " No peer that was measured is ahead anywhere."
}
