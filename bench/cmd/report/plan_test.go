package main

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/peer"
)

// selects says whether a pattern of -test.bench selects a benchmark: every part of
// it must match the part of the name at its place.
func selects(t *testing.T, pattern, name string) bool {
	t.Helper()
	parts := strings.Split(name, "/")
	for i, p := range strings.Split(pattern, "/") {
		if i < len(parts) && !regexp.MustCompile(p).MatchString(parts[i]) {
			return false
		}
	}
	return true
}

func TestEveryBenchmarkIsInOneJob(t *testing.T) {
	p := options{}.plan()
	names := []string{
		"BenchmarkFloor/op=cas/g=1", "BenchmarkFloor/op=line/table=64MB/g=1",
		"BenchmarkGate/path=handle/clock=tsc/keys=1/outcome=allow/g=1",
		"BenchmarkGate/path=gate/clock=tsc/keys=10k/outcome=deny/g=2",
		"BenchmarkGate/path=batch/clock=tsc/keys=1M/outcome=allow/g=1",
		"BenchmarkGate/path=first-seen/clock=tsc/keys=room/outcome=allow/g=1",
		"BenchmarkGate/path=first-seen/clock=tsc/keys=pressure/outcome=allow/g=1",
		"BenchmarkIdem/op=window-add/keys=64k/outcome=fresh/g=1",
		"BenchmarkSeed/case=refill/g=1",
	}
	for _, lib := range peer.All() {
		names = append(names, "BenchmarkPeer/lib="+lib.Name+"/keys=1/outcome=allow/g=2")
		if lib.Keyed {
			names = append(names, "BenchmarkPeer/lib="+lib.Name+"/keys=10k/outcome=deny/g=1", "BenchmarkPeer/lib="+lib.Name+"/keys=1M/outcome=deny/g=1")
		}
	}
	for _, name := range names {
		n := 0
		for _, j := range p.jobs(1) {
			if selects(t, j.pattern, name) {
				n++
				million := strings.Contains(name, "keys=1M") || strings.Contains(name, "first-seen")
				require.Equal(t, million, strings.HasSuffix(j.benchtime, "x"), "%s in %s", name, j.name)
			}
		}
		require.Equal(t, 1, n, "%s is in %d jobs", name, n)
	}
}

func TestEveryFigureHasAsManySamples(t *testing.T) {
	p := options{}.plan()
	samples := map[string]int{}
	for r := 1; r <= p.rounds; r++ {
		for _, j := range p.jobs(r) {
			samples[j.name] += j.count
		}
	}
	for name, n := range samples {
		require.Equal(t, 6, n, name)
	}
	require.Len(t, samples, len(p.small)+len(p.large))
}

func TestQuickTakesOneRound(t *testing.T) {
	p := options{quick: true}.plan()
	require.Equal(t, 1, p.rounds)
	require.Equal(t, 4, options{rounds: 4}.plan().rounds)
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"-out", "x", "-rounds", "3", "-budget", "90s"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{out: "x", rounds: 3, budget: 90 * time.Second}, o)

	var text bytes.Buffer
	_, err = parseOptions([]string{"-rounds", "100", "-budget", "0s", "-out", "", "-again", "more"}, &text)
	for _, part := range []string{"-rounds is 100", "-budget is 0s", "-out is empty", "-again measures nothing", `unexpected argument "more"`} {
		require.ErrorContains(t, err, part)
	}
	_, err = parseOptions([]string{"-what"}, &text)
	require.Error(t, err)
}
