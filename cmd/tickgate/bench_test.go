package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/latency"
)

// sound is a command line with nothing wrong.
func sound() benchCmd { return benchCmd{Duration: "10ms", Keys: "10k"} }

func TestBenchReportsEveryFault(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		change func(*benchCmd)
		want   []string
	}{
		{func(*benchCmd) {}, nil},
		{func(b *benchCmd) { b.Duration = "fast" }, []string{`--duration "fast": must be a duration, as in`}},
		{func(b *benchCmd) { b.Duration = "5ms" }, []string{"--duration 5ms: must be 10ms to 10m0s"}},
		{func(b *benchCmd) { b.Duration = "-1s" }, []string{"--duration -1s: must be"}},
		{func(b *benchCmd) { b.Keys = "1e6" }, []string{`--keys "1e6": must be a whole number, as in`}},
		{func(b *benchCmd) { b.Keys = "9k" }, []string{"--keys: must be 10,000 to 10,000,000"}},
		{func(b *benchCmd) { b.Keys = "1000000M" }, []string{"--keys: must be 10,000 to 10,000,000"}},
		{func(b *benchCmd) { b.Rate = "0" }, []string{"--rate 0: no call would ever be due"}},
		{func(b *benchCmd) { b.Rate = "-3" }, []string{`--rate "-3": must be a whole number`}},
		{func(b *benchCmd) { b.Rate = "6M" }, []string{"--rate 6000000: must be 1 to 5,000,000 calls a second"}},
		{func(b *benchCmd) { b.CPU = "one" }, []string{`--cpu "one": must be the number of a CPU`}},
		{func(b *benchCmd) { b.CPU = "99999" }, []string{"--cpu 99999: "}},
		{func(b *benchCmd) { b.Path = []string{"gate"} }, []string{`--path "gate": no path has that name; there are handle-at,`}},
		{func(b *benchCmd) { b.Path = []string{"gate-all"} }, []string{"ask for more, as in --keys 1M"}},
		{func(b *benchCmd) { b.HTML = "-" }, []string{"--html -: the page goes to a file"}},
		{func(b *benchCmd) { b.HTML = dir }, []string{"is a directory, expected a file"}},
		{func(b *benchCmd) { b.HTML = filepath.Join(dir, "no", "page.html") }, []string{"there is no directory"}},
		{
			func(b *benchCmd) {
				*b = benchCmd{Duration: "x", Keys: "x", Rate: "x", CPU: "x", Path: []string{"x"}, HTML: "-"}
			},
			[]string{"--duration", "--keys", "--rate", "--cpu", "--path", "--html"},
		},
	} {
		b := sound()
		c.change(&b)
		err := b.Validate()
		if c.want == nil {
			require.NoError(t, err)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, len(c.want), "%v", lines)
		for i, want := range c.want {
			require.True(t, strings.HasPrefix(lines[i], want) || strings.Contains(lines[i], want), "%q in %q", want, lines[i])
		}
	}
}

func TestBenchTakesUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "50k": 50_000, "2M": 2_000_000} {
		n, err := amount(text)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for _, text := range []string{"", "k", "-1", "+1", "1.5k", "1kM", "1K", "99999999999999"} {
		_, err := amount(text)
		require.Error(t, err, text)
	}
	b := sound()
	b.Keys, b.Rate, b.GCLoad, b.Path = "1M", "50k", true, []string{"gate-all"}
	require.NoError(t, b.Validate())
	require.Equal(t, latency.Options{Duration: latency.MinDuration, Keys: 1_000_000, Rate: 50_000, GCLoad: true, Paths: b.Path}, b.options)
	b.CPU = "0"
	if b.Validate() == nil { // where this process may run on it
		require.Zero(t, *b.options.CPU)
	}
}

// TestBenchPrints runs the command as short as it goes; no time is asserted.
func TestBenchPrints(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	for _, json := range []bool{false, true} {
		b := sound()
		b.Path, b.HTML, b.JSON = []string{"handle-at"}, page, json
		require.NoError(t, b.Validate())
		var stdout, stderr strings.Builder
		require.NoError(t, b.Run(context.Background(), &world{stdout: &stdout, stderr: &stderr, isTerm: !json}))
		if json {
			require.True(t, strings.HasPrefix(stdout.String(), "{\n"))
			require.Empty(t, stderr.String())
		} else {
			require.Contains(t, stdout.String(), "\nhandle-at ")
			require.True(t, strings.HasPrefix(stderr.String(), "\rmeasuring path 1 of 1\r "))
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Contains(t, string(text), "<h1>tickgate bench</h1>")
		require.NoError(t, os.Remove(page))
	}
}

func TestBenchInterrupted(t *testing.T) {
	b := sound()
	require.NoError(t, b.Validate())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout strings.Builder
	err := b.Run(ctx, &world{stdout: &stdout})
	var f *failed
	require.True(t, errors.As(err, &f))
	require.Equal(t, exitInterrupted, f.status)
	require.EqualError(t, err, "interrupted, paths measured: 0")
	require.Empty(t, stdout.String())
}
