package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// output is a run in which handle-at passes, handle misses, gate passes for one
// key and loses to a peer for 10k, batch has no reference, and first-seen
// allocates.
const output = `go: go1.26.8
gomaxprocs: 2 of 2
goos: linux
goarch: amd64
pkg: github.com/tickgate/tickgate/bench
cpu: Some CPU
BenchmarkPeer/lib=juju/keys=1/outcome=allow/g=1-2 10 100 ns/op 0 B/op 0 allocs/op
BenchmarkPeer/lib=sethvargo/keys=1/outcome=allow/g=1-2 10 80 ns/op 0 B/op 0 allocs/op
BenchmarkPeer/lib=uber/keys=1/outcome=allow/g=1-2 10 20 ns/op 0 B/op 0 allocs/op
BenchmarkPeer/lib=juju/keys=10k/outcome=allow/g=1-2 10 60 ns/op 0 B/op 0 allocs/op
BenchmarkFloor/op=rdtsc/g=1-2 10 13 ns/op
BenchmarkFloor/op=tsc-now/g=1-2 10 17 ns/op
BenchmarkFloor/op=cas/g=1-2 10 3.0 ns/op 0 B/op 0 allocs/op
BenchmarkFloor/op=cas/g=1-2 10 3.2 ns/op 0 B/op 0 allocs/op
BenchmarkFloor/op=cas/g=1-2 10 90 ns/op 0 B/op 0 allocs/op
BenchmarkFloor/op=xxhash/bytes=24+9/g=1-2 10 16 ns/op
BenchmarkGate/path=handle-at/clock=caller/keys=1/outcome=allow/g=1-2 10 6.4 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=handle/clock=tsc/keys=1/outcome=allow/g=1-2 10 24.3 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=gate/clock=tsc/keys=1/outcome=allow/g=1-2 10 48 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=gate/clock=tsc/keys=10k/outcome=allow/g=1-2 10 75 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=batch/clock=tsc/keys=1M/outcome=allow/g=1-2 10 130 ns/op 0 B/op 0 allocs/op
BenchmarkGate/path=first-seen/clock=tsc/keys=room/outcome=allow/g=1-2 10 300 ns/op 8 B/op 1 allocs/op
BenchmarkSeed/case=flood-100-of-10000/g=1-2 10 400000 ns/op 100.0 admitted 9900 denied 40.0 ns/call 0 B/op 0 allocs/op
`

func rowOf(t *testing.T, tab table, figure, keys, outcome string) row {
	t.Helper()
	for _, r := range tab.rows {
		if r.figure == figure && r.keys == keys && r.outcome == outcome {
			return r
		}
	}
	t.Fatalf("no row %q, keys %q, %q", figure, keys, outcome)
	return row{}
}

func TestRowsCarryRatiosAndVerdicts(t *testing.T) {
	tab := newTable(read(t, output))

	r := rowOf(t, tab, "handle-at", "1", "allow")
	require.Equal(t, "cas", r.floor)
	require.InDelta(t, 2.0, r.timesFloor, 1e-9, "the median of the floor counts, not the mean")
	require.Equal(t, "pass", r.verdict, "a target reached exactly is met")
	require.Equal(t, "sethvargo 80", r.peer, "a peer with one bucket is not the fastest keyed peer")

	r = rowOf(t, tab, "handle, tsc", "1", "allow")
	require.Equal(t, "rdtsc+cas", r.floor)
	require.InDelta(t, 24.3/16.2, r.timesFloor, 1e-9)
	require.Equal(t, "miss", r.verdict)

	r = rowOf(t, tab, "gate, tsc", "1", "allow")
	require.InDelta(t, 0.6, r.timesPeer, 1e-9)
	require.Equal(t, "pass", r.verdict, "48 ns is over 45, but the ratio decides")

	r = rowOf(t, tab, "gate, tsc", "10k", "allow")
	require.Equal(t, "miss", r.verdict)
	require.Equal(t, "fastest peer, faster than gate", rowOf(t, tab, "peer juju", "10k", "allow").verdict)

	require.Equal(t, "no reference", rowOf(t, tab, "batch, tsc", "1M", "allow").verdict)
	require.Equal(t, "miss", rowOf(t, tab, "first-seen, tsc", "room", "allow").verdict, "an allocation is a miss")
	require.Equal(t, "one bucket, faster than handle", rowOf(t, tab, "peer uber", "1", "allow").verdict)
	require.Equal(t, "fastest peer", rowOf(t, tab, "peer sethvargo", "1", "allow").verdict)

	r = rowOf(t, tab, "seed flood-100-of-10000", "", "100 of 10000")
	require.EqualValues(t, 40, r.ns, "a figure for a flood is per call")
}

func TestNotesNameWhatFellShort(t *testing.T) {
	tab := newTable(read(t, output))
	require.Equal(t, 2, tab.met)
	require.Equal(t, []string{
		"handle, tsc, keys 1, allow, g=1: 1.50 x (rdtsc+cas), 1.20 x with an ordered reading of our clock for rdtsc, target 1.15 x floor",
		"gate, tsc, keys 10k, allow, g=1: 1.25 x juju 60, target 0.65 x fastest keyed peer",
		"first-seen, tsc, keys room, allow, g=1: 1 allocations an op, target 0",
	}, tab.missed)
	require.Len(t, tab.absent, 1+len(goals)-6, "batch has no reference, and 6 targets have a figure")
	require.Equal(t, []string{
		"peer uber, keys 1, allow, g=1: 20 ns, handle, tsc 24.3 ns",
		"peer juju, keys 10k, allow, g=1: 60 ns, gate, tsc 75 ns",
	}, tab.faster)
}

func TestFloorOf(t *testing.T) {
	for name, want := range map[string]string{
		"Gate/path=handle-at/clock=caller/keys=1/outcome=allow/g=1":  "cas = Floor/op=cas/g=1",
		"Gate/path=handle-at/clock=caller/keys=1/outcome=deny/g=2":   " = ",
		"Gate/path=handle/clock=runtime/keys=1/outcome=allow/g=2":    "runtime+cas = Floor/op=runtime/g=1 Floor/op=cas/g=2",
		"Gate/path=endpoint/clock=tsc/keys=1/outcome=allow/g=1":      "rdtsc+hash+cas = Floor/op=rdtsc/g=1 Floor/op=xxhash/bytes=24/g=1 Floor/op=cas/g=1",
		"Gate/path=gate/clock=tsc/keys=1/outcome=deny/g=1":           "rdtsc+2 hashes = Floor/op=rdtsc/g=1 Floor/op=xxhash/bytes=24+9/g=1",
		"Gate/path=batch/clock=tsc/keys=1M/outcome=allow/g=1":        "one at a time = Gate/path=gate/clock=tsc/keys=1M/outcome=allow/g=1",
		"Gate/path=first-seen/clock=tsc/keys=room/outcome=allow/g=1": " = ",
	} {
		label, terms := floorOf(name)
		require.Equal(t, want, label+" = "+strings.Join(terms, " "), name)
	}
}

func TestEveryGoalHasAReference(t *testing.T) {
	for name, g := range goals {
		label, _ := floorOf(name)
		require.False(t, g.floor > 0 && label == "", "%s has a ratio to a floor that it has not", name)
		require.Positive(t, g.ns, name)
	}
}

func TestTextIsOneAlignedTable(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 1, run(nil, strings.NewReader(output+"FAIL\n"), &out, &fault))
	require.Equal(t, "table: failed in the input: FAIL\n", fault.String())
	text := out.String()
	require.Contains(t, text, "cpu: Some CPU\n")
	require.Contains(t, text, "go: go1.26.8\n")
	require.Contains(t, text, "gomaxprocs: 2 of 2\n")
	require.Contains(t, text, "at least 1 samples")
	require.Contains(t, text, "Fewer than 6")
	require.Contains(t, text, fmt.Sprintf("Targets met: 2 of %d.\n", len(goals)))
	require.Equal(t, 1, strings.Count(text, "verdict"))

	lines := strings.Split(text, "\n")
	var head, peer int
	for i, l := range lines {
		if strings.HasPrefix(l, "figure") {
			head = i
		}
		if strings.HasPrefix(l, "peer juju") && strings.Contains(l, "10k") {
			peer = i
		}
	}
	require.Greater(t, peer, head)
	at := strings.Index(lines[head], "verdict")
	require.Equal(t, "fastest peer, faster than gate", lines[peer][at:])
}

func TestMarkdownHasOneRowPerFigure(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-md"}, strings.NewReader(output), &out, &fault), fault.String())
	rows := 0
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "| ") {
			require.Equal(t, len(headings)+1, strings.Count(line, "|"))
			rows++
		}
	}
	require.Equal(t, 2+len(newTable(read(t, output)).rows), rows)
	require.Contains(t, out.String(), "- cpu: Some CPU\n")
}

func TestRunReadsSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	var files []string
	for i, ns := range []string{"10", "30", "20"} {
		name := filepath.Join(dir, fmt.Sprint(i))
		require.NoError(t, os.WriteFile(name, []byte("cpu: A\nBenchmarkFloor/op=add/g=1-2 5 "+ns+" ns/op\n"), 0o600))
		files = append(files, name)
	}
	var out, fault bytes.Buffer
	require.Equal(t, 0, run(files, nil, &out, &fault), fault.String())
	require.Regexp(t, `(?m)^floor add +1 +20 +50%`, out.String())
	require.Contains(t, out.String(), "at least 3 samples")
}

func TestRunRefusesWhatItCannotUse(t *testing.T) {
	for _, c := range []struct {
		args   []string
		in     string
		status int
		want   string
	}{
		{nil, "", 1, "no benchmark result"},
		{nil, "PASS\n", 1, "no benchmark result"},
		{[]string{"/does/not/exist"}, "", 1, "no such file"},
		{nil, "cpu: A\ncpu: B\n", 1, "one machine"},
		{[]string{"-what"}, "", 2, "-what"},
		{[]string{"-strict"}, output, 1, ""},
	} {
		var out, fault bytes.Buffer
		require.Equal(t, c.status, run(c.args, strings.NewReader(c.in), &out, &fault), "%v", c)
		require.Contains(t, fault.String(), c.want)
	}
}

func TestVerboseRepeatsTheInput(t *testing.T) {
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-v"}, strings.NewReader(output), &out, &fault))
	require.Equal(t, output, fault.String())
}
