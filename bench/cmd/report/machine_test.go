package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/table"
)

func TestCpuinfoReadsTheFirstProcessor(t *testing.T) {
	got := cpuinfo("processor\t: 0\nmodel name\t: A: B\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\nmodel name\t: C\n")
	require.Equal(t, map[string]string{"processor": "0", "model name": "A: B", "flags": "fpu hypervisor"}, got)
}

func TestChosen(t *testing.T) {
	require.Equal(t, "madvise", chosen("always [madvise] never"))
	require.Equal(t, "never", chosen("never"))
	require.Empty(t, chosen(""))
}

func TestDescribeSaysWhatFiguresDependOn(t *testing.T) {
	c := describe(options{quick: true}.plan())
	for _, key := range []string{"goos", "goarch", "pkg", "go", "gomaxprocs", "gogc", "clock", "benchtime", "date", "mode"} {
		v, ok := c.Get(key)
		require.True(t, ok, key)
		require.NotEmpty(t, v, key)
	}
	if runtime.GOOS == "linux" {
		_, ok := c.Get("kernel")
		require.True(t, ok)
		_, ok = c.Get("load-before")
		require.True(t, ok)
	}
}

func TestWarnings(t *testing.T) {
	require.Empty(t, warnings(table.Conditions{{Key: "load-before", Value: "0.10 1.00 2.00"}}))
	require.Empty(t, warnings(nil))
	all := warnings(table.Conditions{{Key: "load-before", Value: "0.80 0.10 0.10"}, {Key: "mode", Value: "quick"}})
	require.Len(t, all, 2)
	require.Contains(t, all[0], "quick")
	require.Contains(t, all[1], "0.80")
}

func TestStolenTime(t *testing.T) {
	before := parseProcessors("cpu  100 0 50 800 10 0 0 40 7 7\ncpu0 1 1\n")
	require.Equal(t, processors{stolen: 40, all: 1000}, before)
	after := parseProcessors("cpu  200 0 50 800 10 0 0 140 9 9\n")
	share, ok := after.stolenSince(before)
	require.True(t, ok)
	require.InDelta(t, 0.5, share, 1e-9)
	_, ok = before.stolenSince(before)
	require.False(t, ok)
	require.Equal(t, processors{}, parseProcessors("cpu 1 2 x 4 5 6 7 8\n"))
	require.Equal(t, processors{}, parseProcessors(""))
}
