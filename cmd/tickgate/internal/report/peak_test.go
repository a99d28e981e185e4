package report

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// brute counts every window that ends at one of the times.
func brute(times []int64) (best, at int64) {
	sorted := slices.Sorted(slices.Values(times))
	for _, t := range sorted {
		n := int64(0)
		for _, u := range sorted {
			if u > t-second && u <= t {
				n++
			}
		}
		if n > best {
			best, at = n, t
		}
	}
	return best, at
}

func TestPeakEdges(t *testing.T) {
	for _, c := range []struct {
		times    []int64
		best, at int64
	}{
		{nil, 0, 0},
		{[]int64{7}, 1, 7},
		{[]int64{0, second}, 1, 0},               // exactly one second apart: two windows
		{[]int64{0, second - 1}, 2, second - 1},  // one nanosecond less: one
		{[]int64{second - 1, 0}, 2, second - 1},  // and in the other order
		{[]int64{5, 5, 5, 2 * second, 5}, 4, 5},  // equal times, one of them late
		{[]int64{0, 2 * second, 0, 4e9}, 2, 0},   // the earliest of equal peaks
		{[]int64{9e9, 9e9, 1e9, 1e9}, 2, second}, // in time, not in the file
	} {
		var p peak
		for _, at := range c.times {
			p.add(at)
		}
		best, at := p.result()
		require.Equal(t, c.best, best, c.times)
		require.Equal(t, c.at, at, c.times)
	}
}

func TestPeakAgainstBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 40 {
		var p peak
		var times []int64
		late := []int64{0, 1e6, second, 100 * second}[round%4] // how far behind requests come
		now := int64(0)
		for range 300 {
			now += rng.Int64N(int64(10e6) << (rng.IntN(8)))
			at := max(0, now-rng.Int64N(late+1))
			times = append(times, at)
			p.add(at)
			if rng.IntN(20) == 0 { // as if it had been time to
				p.sweep()
				p.drop()
			}
		}
		best, at := brute(times)
		gotBest, gotAt := p.result()
		require.Equal(t, best, gotBest, "round %d", round)
		require.Equal(t, at, gotAt, "round %d", round)
	}
}

// TestPeakForgets: what is kept follows the traffic of the horizon, not the
// length of the recording.
func TestPeakForgets(t *testing.T) {
	var p peak
	for i := range int64(400_000) {
		p.add(i * second)
	}
	require.LessOrEqual(t, len(p.ticks), 2*compactAt)
	best, _ := p.result()
	require.EqualValues(t, 1, best)
}

// TestPeakOfTwoRecordings: a second file with older times does not add to the
// windows of the first.
func TestPeakOfTwoRecordings(t *testing.T) {
	var p peak
	for i := range int64(10) {
		p.add(3600*second + i)
	}
	for i := range int64(11) {
		p.add(i)
	}
	best, at := p.result()
	require.EqualValues(t, 11, best)
	require.EqualValues(t, 10, at)
}
