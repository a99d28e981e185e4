package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestKeysAreDistinctAndOfOneLength(t *testing.T) {
	const n = 100_000
	seen := make(map[string]bool, n)
	for i := range n {
		k := Key(i)
		require.Len(t, k, KeyLen)
		seen[k] = true
	}
	require.Len(t, seen, n)
}

func TestArrivalsVisitEveryKeyOnceARound(t *testing.T) {
	const keys = 1000
	stream := Arrivals(keys)
	require.GreaterOrEqual(t, len(stream), minArrivals)
	require.Zero(t, len(stream)%keys)
	for start := 0; start < len(stream); start += keys {
		seen := make(map[string]bool, keys)
		for _, k := range stream[start : start+keys] {
			seen[k] = true
		}
		require.Len(t, seen, keys)
	}
}

func TestArrivalsAreInRandomOrderAndRepeatable(t *testing.T) {
	stream := Arrivals(1000)
	require.Equal(t, stream, Arrivals(1000))
	same := 0
	for i := range 1000 {
		if stream[i] == Key(i) || stream[i] == stream[1000+i] {
			same++
		}
	}
	require.Less(t, same, 20, "keys at the place of their number, or at the same place in two rounds")
}

func TestArrivalsOfOneKey(t *testing.T) {
	require.Equal(t, []string{Key(0)}, Arrivals(1))
}

func TestLabel(t *testing.T) {
	for n, want := range map[int]string{1: "1", 64: "64", 1000: "1k", 10_000: "10k", 1_000_000: "1M", 1_500_000: "1500k", 1 << 20: "1048576"} {
		require.Equal(t, want, Label(n))
	}
}

func TestOfDayKeepsTheOutcome(t *testing.T) {
	tokens, window := Allow.OfDay()
	require.EqualValues(t, 86_400*1e9, tokens)
	require.Equal(t, 24*time.Hour, window)
	tokens, _ = Deny.OfDay()
	require.EqualValues(t, 1, tokens)
}
