package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOneSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	var out, fault bytes.Buffer
	require.Equal(t, 0, run([]string{"-json", "-keys", "5000", "-rounds", "1"}, &out, &fault), fault.String())
	var r result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 5000, r.Keys)
	require.Greater(t, r.Bytes, 100.)
	for _, f := range []figure{r.Gate, r.Handles, r.Handle, r.Batch} {
		require.Positive(t, f.Ns)
		require.Equal(t, 1, f.Runs)
	}
}

func TestTable(t *testing.T) {
	all := []result{{Keys: 1000, Bytes: 130.04, Gate: figure{Ns: 80.26, Far: .051}, Batch: figure{Ns: 70}, Handles: figure{Ns: 50}, Handle: figure{Ns: 48}}}
	var out bytes.Buffer
	require.NoError(t, write(&out, all, 7, false))
	require.Regexp(t, `(?m)^ *1k +80\.3 +5% +70\.0 +0% +50\.0 +0% +48\.0 +0% +130\.0 *$`, out.String())
	out.Reset()
	require.NoError(t, write(&out, all, 7, true))
	require.Contains(t, out.String(), "| 1k | 80.3 | 5% | 70.0 | 0% | 50.0 | 0% | 48.0 | 0% | 130.0 |\n")
}

func TestMedian(t *testing.T) {
	f := median(3, func() {})
	require.Equal(t, 3, f.Runs)
	require.GreaterOrEqual(t, f.Ns, 0.)
}

func TestField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	require.NoError(t, os.WriteFile(path, []byte("Name:\tx\nVmRSS:\t  1234 kB\nOdd: 12 MB\n"), 0o600))
	n, err := field(path, "VmRSS:")
	require.NoError(t, err)
	require.EqualValues(t, 1234<<10, n)
	_, err = field(path, "Odd:")
	require.ErrorContains(t, err, "is no number of kB")
	_, err = field(path, "None:")
	require.ErrorContains(t, err, "has no line")
	_, err = field(path+"x", "VmRSS:")
	require.ErrorContains(t, err, "/proc")
}

func TestWrongArguments(t *testing.T) {
	_, err := parse([]string{"-keys", "1,x", "-rounds", "0", "-json", "-calls", "0", "more"}, &bytes.Buffer{})
	require.EqualError(t, err, "unexpected argument \"more\"\n-rounds 0: must be 1 to 100\n-keys 1: must be 64 to 100000000\n"+
		"-keys x: must be 64 to 100000000\n-json, -path: need one number of -keys\n-calls 0: must be at least 1")
	var out, fault bytes.Buffer
	require.Equal(t, 2, run([]string{"-keys", "1"}, &out, &fault))
	require.Empty(t, out.String())
	require.NotEmpty(t, fault.String())
}

func TestPaths(t *testing.T) {
	for _, path := range []string{"gate", "deny", "handle", "batch", "shared"} {
		require.NoError(t, repeat(path, 1000, 1000), path)
	}
	require.ErrorContains(t, repeat("none", 1000, 1), "must be gate")
}

func TestPairs(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	for _, p := range pairs {
		if ns, err := p.measure(3, 300*time.Millisecond); err != nil {
			require.ErrorContains(t, err, "too busy", p.name)
		} else {
			require.Positive(t, ns, p.name)
		}
	}
}

func TestNeeds(t *testing.T) {
	require.Greater(t, needed(10_000_000), int64(1400<<20))
	require.Less(t, needed(1000), int64(150<<20))
}
