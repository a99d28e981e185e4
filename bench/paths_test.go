package bench

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// TestPathsGiveTheOutcomeOfTheirName makes a few calls through every path that
// BenchmarkGate measures, so that a path that decides otherwise is found
// without a run of the benchmarks.
func TestPathsGiveTheOutcomeOfTheirName(t *testing.T) {
	for _, c := range pathCases {
		if c.keys > 10_000 {
			continue // the loops are the same, and filling the gate takes long
		}
		t.Run(c.name(), func(t *testing.T) {
			var gs gates
			defer gs.close(t)
			run := c.calls(t, gs.get(t, c.clock, c.keys, c.limit))
			const n = 1000
			want := 0
			if c.limit.Outcome == load.Allow.Outcome {
				want = n
			}
			for round := range 2 {
				for w := range c.g {
					require.Equal(t, want, run(w, n), "worker %d, round %d", w, round)
				}
			}
		})
	}
}

// TestNamesEndInGoroutines checks what cmd/table relies on: the suffix of
// GOMAXPROCS can be told from the name.
func TestNamesEndInGoroutines(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range pathCases {
		require.Regexp(t, regexp.MustCompile(`/g=[12]$`), c.name())
		require.False(t, seen[c.name()], "%s is measured twice", c.name())
		seen[c.name()] = true
	}
}

// TestEveryPathIsMeasuredWithPeers checks that a figure of Gate.Allow has peers
// on the same keys, and every load of the peers a figure of Gate.Allow.
func TestEveryPathIsMeasuredWithPeers(t *testing.T) {
	ours := map[peerCase]bool{}
	for _, c := range pathCases {
		if c.path == "gate" {
			ours[peerCase{c.keys, c.limit, c.g}] = true
		}
	}
	theirs := map[peerCase]bool{}
	for _, c := range peerCases() {
		theirs[c] = true
	}
	require.Equal(t, theirs, ours)
}
