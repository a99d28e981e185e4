package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/table"
)

var update = flag.Bool("update", false, "write down the reports of testdata anew")

// TestReportOfKnownResults compares the report of the results in testdata with
// the one that a person has looked at.
func TestReportOfKnownResults(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, os.CopyFS(out, os.DirFS("testdata/run")))
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, run(context.Background(), []string{"-again", "-out", out}, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "Targets met: 5 of 16.")

	for _, name := range []string{"report.md", "report.html"} {
		got, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		known := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(known, got, 0o644))
		}
		want, err := os.ReadFile(known)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s differs: look at it, then run this test with -update", name)
	}
}

// knownPage is the page of the results in testdata.
func knownPage(t *testing.T) string {
	t.Helper()
	m, err := readRaw("testdata/run")
	require.NoError(t, err)
	var page bytes.Buffer
	require.NoError(t, writeHTML(&page, table.New(m)))
	return page.String()
}

func TestPageIsWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(knownPage(t)))
	counts := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
	require.Equal(t, 9, counts["svg"], "targets, floors, two loads, trading, first seen, retries, and two of memory")
	require.Equal(t, counts["svg"], counts["details"], "every plot has its table")
	require.Zero(t, counts["script"])
}

func TestPageNeedsNothingElse(t *testing.T) {
	page := knownPage(t)
	for _, foreign := range []string{"http:", "https:", "//", "@import", "url(", "src=", "href="} {
		require.NotContains(t, page, foreign)
	}
	require.Contains(t, page, "Some &lt;CPU&gt; &amp; more")
	require.Contains(t, page, "prefers-color-scheme: dark")
	require.Contains(t, page, `name="viewport"`)
	require.Contains(t, page, "was not idle")
}

func TestBarsLieWithinTheirPlot(t *testing.T) {
	m, err := readRaw("testdata/run")
	require.NoError(t, err)
	for _, s := range sections(table.New(m)) {
		for _, p := range s.Plots {
			for _, b := range p.Bars {
				require.Positive(t, b.Width, "%s: %s", p.Title, b.Name)
				require.LessOrEqual(t, b.Width, plotWidth, "%s: %s", p.Title, b.Name)
				require.LessOrEqual(t, b.BarY+barHeight, p.AxisY(), "%s: %s", p.Title, b.Name)
			}
			for _, x := range p.Ticks {
				require.True(t, 0 <= x.X && x.X <= plotWidth, "%s: %s", p.Title, x.Label)
			}
		}
	}
}

func TestLoadPlotShowsFloorPathsAndPeersInOrder(t *testing.T) {
	m, err := readRaw("testdata/run")
	require.NoError(t, err)
	p := loadPlot(table.New(m), "1", "allow", "1")
	var names []string
	for _, b := range p.Bars {
		names = append(names, b.Kind+" "+b.Name+" "+b.Text)
	}
	require.Equal(t, []string{
		"floor floor: rdtsc + 2 hashes + cas 30 ns", "ours handle-at 5.50 ns ±9%", "peer uber 40 ns ±0%", "ours gate, tsc 50 ns ±0%", "peer juju 100 ns ±0%",
	}, names)
	require.True(t, p.Log)
	require.Nil(t, loadPlot(table.New(m), "10k", "allow", "1"), "no figure, no plot")
}

func TestNoResultsAreAnError(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, 1, run(context.Background(), []string{"-again", "-out", t.TempDir()}, io.Discard, &stderr))
	require.Regexp(t, regexp.MustCompile(`^report: no results in .*raw: measure first, without -again\n$`), stderr.String())
	require.Equal(t, 2, run(context.Background(), []string{"more"}, io.Discard, io.Discard))
	require.Equal(t, 0, run(context.Background(), []string{"-h"}, io.Discard, io.Discard))
}

// TestOutputOfAFailedProgramIsShown runs this test as the program.
func TestOutputOfAFailedProgramIsShown(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, c := range []struct{ how, want string }{{"exit", "exit status 1"}, {"quiet", "a benchmark failed"}} {
		cmd := exec.Command(self, "-test.run=^TestFailingProgram$")
		cmd.Env = append(os.Environ(), "TICKGATE_FAIL="+c.how)
		_, err := output(cmd)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, "--- FAIL: BenchmarkX")
	}
	out, err := output(exec.Command(self, "-test.run=^$"))
	require.NoError(t, err)
	require.Contains(t, string(out), "PASS")
}

// TestFailingProgram is the failing program.
func TestFailingProgram(t *testing.T) {
	switch os.Getenv("TICKGATE_FAIL") {
	case "exit":
		os.Stdout.WriteString("--- FAIL: BenchmarkX\n")
		os.Exit(1)
	case "quiet":
		os.Stdout.WriteString("--- FAIL: BenchmarkX\n")
		os.Exit(0)
	}
}
