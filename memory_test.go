package tickgate_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// memoryEnv tells the test binary that it is the process to be measured.
const memoryEnv = "TICKGATE_MEASURE_KEYS"

// memoryReport is what that process prints.
const memoryReport = "resident=%d heap=%d objects=%d gc=%d emptygc=%d held=%d\n"

// memoryChild, in the process to be measured, fills a gate, prints what that
// took, and exits. Else it does nothing.
func memoryChild() {
	keys, err := strconv.Atoi(os.Getenv(memoryEnv))
	if err != nil {
		return
	}
	debug.FreeOSMemory()
	empty, before := timeGC(), resident()
	g, err := tickgate.New(tickgate.Config{MaxKeys: keys, Policies: policy.Set{{
		Endpoint: endpoint, Limits: []policy.Limit{{Tokens: 10, Per: time.Second}},
	}}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var b [24]byte
	for i := range keys {
		s := strconv.AppendInt(b[:0], int64(i), 10)
		copy(b[len(s):], "........................")
		if !g.Allow(string(b[:]), endpoint) {
			fmt.Println("denied key", i)
			os.Exit(1)
		}
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf(memoryReport, resident()-before, m.HeapAlloc, m.HeapObjects, timeGC(), empty, g.Stats().Size)
	runtime.KeepAlive(g)
	os.Exit(0)
}

// timeGC is the shortest of a few collections, ns.
func timeGC() int64 {
	best := time.Hour
	for range 5 {
		start := time.Now()
		runtime.GC()
		best = min(best, time.Since(start))
	}
	return best.Nanoseconds()
}

// resident is this process's memory that is really there, bytes; 0 where the
// system does not tell.
func resident() int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(kb, "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// A million keys of 24 bytes, in a process of their own: at most 140 bytes each,
// next to nothing of it on the heap, and nothing for the collector to follow.
func TestG6MillionKeys(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("a million keys: not with -short, and the race detector has memory of its own")
	}
	if resident() == 0 {
		t.Skip("this system does not tell a process's memory in /proc/self/status")
	}
	const keys = 1_000_000
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", memoryEnv, keys))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var bytes, heap, objects, gc, empty, held int64
	_, err = fmt.Sscanf(string(out), memoryReport, &bytes, &heap, &objects, &gc, &empty, &held)
	require.NoError(t, err, "%s", out)
	t.Logf("%.1f bytes a key, %d kB of heap in %d objects; runtime.GC() %v, empty %v",
		float64(bytes)/keys, heap>>10, objects, time.Duration(gc), time.Duration(empty))
	require.Equal(t, int64(keys), held)
	require.LessOrEqual(t, bytes, int64(140*keys))
	require.Less(t, objects, int64(20_000))
	if offHeap {
		require.Less(t, heap, int64(8<<20))
	}
}

// Everything that keys need is there from the start: using it adds no heap.
func TestG6MemoryIsFixedAtNew(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{MaxKeys: 20_000}, "10/s")
	names := keysOf(60_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, k := range names {
		g.Allow(k, endpoint)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, g.Stats().Size, 20_000)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(256<<10))
	runtime.KeepAlive(names)
}

// keysOf returns n different keys of 24 bytes.
func keysOf(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%020d", i)
	}
	return keys
}
