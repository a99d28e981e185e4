package table

import (
	"math"
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

func rowOf(t *testing.T, tab Table, figure, keys, outcome string) Row {
	t.Helper()
	for _, r := range tab.Rows {
		if r.Figure == figure && r.Keys == keys && r.Outcome == outcome {
			return r
		}
	}
	t.Fatalf("no row %q, keys %q, %q", figure, keys, outcome)
	return Row{}
}

func TestRowsCarryRatiosAndVerdicts(t *testing.T) {
	tab := New(read(t, output))

	r := rowOf(t, tab, "handle-at", "1", "allow")
	require.Equal(t, "cas", r.Floor)
	require.InDelta(t, 2.0, r.TimesFloor, 1e-9, "the median of the floor counts, not the mean")
	require.Equal(t, Pass, r.Verdict, "a target reached exactly is met")
	require.Equal(t, "sethvargo", r.Peer, "a peer with one bucket is not the fastest keyed peer")

	r = rowOf(t, tab, "handle, tsc", "1", "allow")
	require.Equal(t, "rdtsc+cas", r.Floor)
	require.InDelta(t, 24.3/16.2, r.TimesFloor, 1e-9)
	require.Equal(t, Miss, r.Verdict)

	r = rowOf(t, tab, "gate, tsc", "1", "allow")
	require.InDelta(t, 0.6, r.TimesPeer, 1e-9)
	require.Equal(t, Pass, r.Verdict, "48 ns is over 45, but the ratio decides")

	r = rowOf(t, tab, "gate, tsc", "10k", "allow")
	require.Equal(t, Miss, r.Verdict)
	require.Equal(t, "fastest peer, faster than gate", rowOf(t, tab, "peer juju", "10k", "allow").Verdict)

	require.Equal(t, NotMeasured, rowOf(t, tab, "batch, tsc", "1M", "allow").Verdict)
	require.Equal(t, Miss, rowOf(t, tab, "first-seen, tsc", "room", "allow").Verdict, "an allocation is a miss")
	require.Equal(t, "one bucket, faster than handle", rowOf(t, tab, "peer uber", "1", "allow").Verdict)
	require.Equal(t, "fastest peer", rowOf(t, tab, "peer sethvargo", "1", "allow").Verdict)

	require.EqualValues(t, 80, rowOf(t, tab, "gate, tsc", "1", "allow").PeerNs)

	r = rowOf(t, tab, "seed flood-100-of-10000", "", "100 of 10000")
	require.EqualValues(t, 40, r.Ns, "a figure for a flood is per call")
}

func TestTargetsSayWhatCameOfThem(t *testing.T) {
	tab := New(read(t, output))
	require.Len(t, tab.Targets, len(goals)+2)
	require.Len(t, tab.Of(Pass), 2)
	require.Equal(t, []string{
		"handle, tsc, keys 1, allow, g=1: 1.50 x (rdtsc+cas), 1.20 x with an ordered reading of our clock for rdtsc, target 1.15 x floor",
		"gate, tsc, keys 10k, allow, g=1: 1.25 x juju 60, target 0.65 x fastest keyed peer",
		"first-seen, tsc, keys room, allow, g=1: 1 allocations an op, target 0",
	}, sentences(tab.Of(Miss)))
	absent := sentences(tab.Of(NotMeasured))
	require.Len(t, absent, 1+len(goals)-6+2, "batch has no reference, 6 targets have a figure, and nothing of memory has")
	require.Contains(t, absent, "what batch, tsc, keys 1M, allow, g=1 is compared with (target 0.35 x floor)")
	require.Contains(t, absent, "memory for a key, keys 1M (target 140 bytes)")

	require.InDelta(t, 1, tab.Targets[0].Share, 1e-9, "2.0 of 2.0 x floor")
	require.InDelta(t, 1.5/1.15, tab.Targets[1].Share, 1e-9)
	require.True(t, math.IsNaN(tab.Targets[2].Share), "endpoint was not measured")
}

func TestAnAllocationMissesWithoutAGoal(t *testing.T) {
	tab := New(read(t, "BenchmarkGate/path=gate-copies/clock=tsc/keys=1/outcome=allow/g=1-2 10 50 ns/op 8 B/op 2 allocs/op\n"))
	require.Equal(t, []string{"gate-copies, tsc, keys 1, allow, g=1: 2 allocations an op, target 0"}, sentences(tab.Of(Miss)))
}

func TestPeersAheadAreTold(t *testing.T) {
	tab := New(read(t, output))
	require.Equal(t, []string{
		"peer uber, keys 1, allow, g=1: 20 ns, handle, tsc 24.3 ns",
		"peer juju, keys 10k, allow, g=1: 60 ns, gate, tsc 75 ns",
	}, tab.Ahead)

	const close = `BenchmarkGate/path=gate/clock=tsc/keys=1/outcome=allow/g=2-2 10 100 ns/op
BenchmarkGate/path=gate/clock=tsc/keys=1/outcome=allow/g=2-2 10 110 ns/op
BenchmarkPeer/lib=juju/keys=1/outcome=allow/g=2-2 10 102 ns/op
`
	require.Equal(t, []string{"peer juju, keys 1, allow, g=2: 102 ns, gate, tsc 105 ns (no more than the samples differ, 5%)"}, New(read(t, close)).Ahead)
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
	seen := map[string]bool{}
	for _, g := range goals {
		label, _ := floorOf(g.name)
		require.False(t, g.floor > 0 && label == "", "%s has a ratio to a floor that it has not", g.name)
		require.Positive(t, g.ns, g.name)
		require.False(t, seen[g.name], "%s has two goals", g.name)
		seen[g.name] = true
	}
}
