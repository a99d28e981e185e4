package table

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const memoryOutput = `BenchmarkMemory/lib=tickgate/keys=1M 1 130.7 resident-B/key 1620 mapped-B/key 2.1 heap-B/key 210000 gc-empty-ns 180000 gc-full-ns 1000000 kept-keys
BenchmarkMemory/lib=httprate/keys=1M 1 43 resident-B/key 60 mapped-B/key 43 heap-B/key 200000 gc-empty-ns 400000 gc-full-ns 1000000 kept-keys
BenchmarkMemory/lib=juju/keys=1M 1 275 resident-B/key 300 mapped-B/key 270 heap-B/key 200000 gc-empty-ns 900000000 gc-full-ns 1000000 kept-keys
`

func TestMemoryIsJudged(t *testing.T) {
	tab := New(read(t, memoryOutput))
	require.Len(t, tab.Memory, 3)
	require.InDelta(t, -0.03, tab.Memory[0].GCAdded(), 1e-9)
	require.Equal(t, []string{
		"memory for a key, keys 1M: 131 bytes, target 140 bytes",
		"a collection's growth, keys 1M: -0.03 ms, target 1 ms",
	}, sentences(tab.Of(Pass)))
	require.Equal(t, []string{"peer httprate, keys 1M: 43 bytes a key, tickgate 131"}, tab.Ahead)
	require.Zero(t, tab.Targets[len(tab.Targets)-1].Share, "a collection that got shorter is no negative share")
}

func TestMemoryMisses(t *testing.T) {
	tab := New(read(t, `BenchmarkMemory/lib=tickgate/keys=1M 1 141 resident-B/key 100000 gc-empty-ns 1200000 gc-full-ns
BenchmarkMemory/lib=juju/keys=1M 1 275 resident-B/key 100000 gc-empty-ns 300000 gc-full-ns
`))
	require.Equal(t, []string{
		"memory for a key, keys 1M: 141 bytes, target 140 bytes",
		"a collection's growth, keys 1M: 1.10 ms, target 1 ms",
	}, sentences(tab.Of(Miss)))
	require.Equal(t, []string{"peer juju, keys 1M: 0.20 ms added to a collection, tickgate 1.10"}, tab.Ahead)
}

func TestMemoryOfFewerKeysIsNotJudged(t *testing.T) {
	tab := New(read(t, "BenchmarkMemory/lib=tickgate/keys=100k 1 150 resident-B/key 1 gc-empty-ns 1 gc-full-ns\n"))
	require.Len(t, tab.Memory, 1)
	require.Empty(t, tab.Of(Miss))
}
