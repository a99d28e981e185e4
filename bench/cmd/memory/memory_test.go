package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/table"
)

func TestParseStatus(t *testing.T) {
	rss, err := parseStatus(strings.NewReader("Name:\tx\nVmSize:\t  900 kB\nVmRSS:\t  1234 kB\nRssAnon:\t 5 kB\n"))
	require.NoError(t, err)
	require.EqualValues(t, 1234<<10, rss)

	_, err = parseStatus(strings.NewReader("Name:\tx\n"))
	require.ErrorContains(t, err, "VmRSS")
	_, err = parseStatus(strings.NewReader("VmRSS:\t12 MB\n"))
	require.ErrorContains(t, err, "kB")
}

const mappings = `00400000-00500000 r-xp 00000000 fe:00 1234    /bin/x
Size:               1024 kB
Rss:                 512 kB
00500000-00600000 rw-p 00100000 fe:00 1234    /bin/x
Size:               1024 kB
Rss:                 256 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Size:               4096 kB
KernelPageSize:        4 kB
Rss:                2048 kB
Pss:                2048 kB
AnonHugePages:      2048 kB
c000400000-c004000000 ---p 00000000 00:00 0
Size:              61440 kB
Rss:                   0 kB
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 [anon: table]
Size:               2048 kB
Rss:                1024 kB
`

func TestParseMappingsCountsWritableAnonymousOnes(t *testing.T) {
	touched, mapped, err := parseMappings(strings.NewReader(mappings))
	require.NoError(t, err)
	require.EqualValues(t, 3072<<10, touched)
	require.EqualValues(t, 6144<<10, mapped)
}

func TestParseMappingsReportsABadLine(t *testing.T) {
	_, _, err := parseMappings(strings.NewReader(strings.Replace(mappings, "2048 kB", "many kB", 1)))
	require.ErrorContains(t, err, "many")
}

// TestEveryLibraryKeepsItsKeys fills each one with a few keys; the sizes are
// only looked at for being there, because a few keys drown in everything else.
func TestEveryLibraryKeepsItsKeys(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	const keys = 2000
	for _, name := range libs() {
		t.Run(name, func(t *testing.T) {
			r, err := measure(name, keys, 10_000)
			require.NoError(t, err)
			require.Equal(t, name, r.Lib)
			require.Equal(t, keys, r.Kept)
			require.Positive(t, r.GCFull.Least)
			require.GreaterOrEqual(t, r.GCFull.Median, r.GCFull.Least)
		})
	}
}

func TestRunPrintsOneObject(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-json", "-lib", "throttled", "-keys", "500"}, &out, &fault), fault.String())
	var r result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, "throttled", r.Lib)
	require.Equal(t, 500, r.Keys)
}

func TestTableHasALinePerLibrary(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeTable(&out, []result{
		{Lib: "tickgate", Keys: 1000, Kept: 1000, RSS: 128.25, GCEmpty: gcTime{Median: 2 * time.Millisecond, Least: time.Millisecond},
			GCFull: gcTime{Median: 5 * time.Millisecond, Least: 2500 * time.Microsecond}},
		{Lib: "juju", Keys: 1000, Kept: 999},
	}))
	require.Contains(t, out.String(), "1000 keys of 24 bytes")
	require.Regexp(t, `(?m)^ *tickgate +128\.2 .* 1\.00 \(2\.00\) +2\.50 \(5\.00\) +1\.50 \(3\.00\) +1000$`, out.String())
	require.Regexp(t, `(?m)^ *juju .* 999$`, out.String())
}

func TestBenchIsReadAsResults(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, writeBench(&out, []result{{
		Lib: "juju", Keys: 1_000_000, Kept: 999_999, RSS: 128.25, Mapped: 200, Heap: 90,
		GCEmpty: gcTime{Median: 2 * time.Millisecond}, GCFull: gcTime{Median: 5 * time.Millisecond, Least: time.Millisecond},
	}}))
	m := table.NewMeasurements()
	require.NoError(t, m.Read(&out))
	require.Equal(t, []table.Memory{{
		Lib: "juju", Keys: "1M", Resident: 128.2, Mapped: 200, Heap: 90, GCEmpty: 2, GCFull: 5, Kept: 999_999,
	}}, table.New(m).Memory)
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-keys", "0"}, {"-keys", "1000000000"}, {"-maxkeys", "-1"}, {"-lib", "none"}, {"-lib", "uber"}, {"extra"}, {"-what"}, {"-json", "-bench"},
	} {
		var out, fault bytes.Buffer
		require.Equal(t, 2, run(args, &out, &fault), "%v", args)
		require.NotEmpty(t, fault.String(), "%v", args)
		require.Empty(t, out.String(), "%v", args)
	}
}
