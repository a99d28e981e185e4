package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoundsFollowThePlan(t *testing.T) {
	out := t.TempDir()
	f := &fakePrograms{takes: takes(time.Second, time.Second)}
	require.NoError(t, runFake(t, f, out, 3, time.Hour))
	require.Equal(t, []string{"small", "large", "small", "small", "large"}, f.ran)
	require.Contains(t, f.progress.String(), "   3s  round 1 of 3: large\n")

	files, err := rawFiles(out)
	require.NoError(t, err)
	for i, name := range []string{"memory.txt", "round-01.txt", "round-02.txt", "round-03.txt"} {
		require.Equal(t, filepath.Join(out, "raw", name), files[i])
	}
	text, err := os.ReadFile(files[3])
	require.NoError(t, err)
	require.Regexp(t, `^goos: linux
cpu: Some CPU
benchtime: short
# date: 2026-11-30T00:00:00Z
# load-before: 0.01 0.02 0.03

found: here
BenchmarkFloor/op=add/g=1-2 10 4 ns/op
found: here
BenchmarkFloor/op=add/g=1-2 10 5 ns/op

# rounds: 3 of 3
# took: 7s
`, string(text))

	m, err := readRaw(out)
	require.NoError(t, err)
	ns, ok := m.Figure("Floor/op=add/g=1", "ns/op")
	require.True(t, ok)
	require.EqualValues(t, 3, ns)
	rounds, _ := m.Conditions.Get("rounds")
	require.Equal(t, "3 of 3", rounds)
}

// The memory takes 2 s, a round 10 s with the large job and 1 s without.
func TestNoRoundBeginsThatWouldEndTooLate(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		rounds int
	}{
		{time.Millisecond, 1}, // the first is always run
		{13 * time.Second, 1}, // a second of 1 s and its margin would not end in time
		{14 * time.Second, 2},
		{23 * time.Second, 2},
		{24 * time.Second, 3},
		{time.Hour, 6},
	} {
		f := &fakePrograms{takes: takes(time.Second, 9*time.Second)}
		require.NoError(t, runFake(t, f, t.TempDir(), 6, c.budget))
		require.Equal(t, c.rounds, count(f.ran, "small"), "%v", c.budget)
		if c.rounds < 6 {
			require.Contains(t, f.progress.String(), "no further round")
		}
	}
}

func count(names []string, name string) (n int) {
	for _, s := range names {
		if s == name {
			n++
		}
	}
	return n
}

func TestAFailureEndsTheRunWithItsOutput(t *testing.T) {
	f := &fakePrograms{takes: takes(0, 0), failing: "large"}
	err := runFake(t, f, t.TempDir(), 6, time.Hour)
	require.EqualError(t, err, "large: exit status 1\n--- FAIL: BenchmarkGate")
	require.Equal(t, []string{"small", "large"}, f.ran)
}

func TestResultsOfAnEarlierRunAreRemoved(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, runFake(t, &fakePrograms{takes: takes(0, 0)}, out, 3, time.Hour))
	other := filepath.Join(out, "raw", "mine.txt")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	require.NoError(t, runFake(t, &fakePrograms{takes: takes(0, 0)}, out, 1, time.Hour))
	files, err := rawFiles(out)
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.FileExists(t, other)
}
