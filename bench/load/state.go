package main

import (
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// statePath is where every server tells its state. No limit is on it.
const statePath = "/state"

// state is what a server process holds, after what nobody needs was given back.
type state struct {
	Goroutines int    `json:"goroutines"`
	Heap       int64  `json:"heap_bytes"` // objects that are in use
	RSS        int64  `json:"rss_bytes"`  // resident memory; 0 where the system does not tell
	Keys       int    `json:"keys"`       // in the gate
	Evicted    uint64 `json:"evicted"`    // keys of the gate, since it was made
	Results    int    `json:"results"`    // that the store of jobs keeps
}

// state writes the state as JSON. It stops the process for a collection, so it is not
// to be asked during a measurement.
func (s *service) state(w http.ResponseWriter, _ *http.Request) {
	var now state
	if s.jobs != nil {
		s.jobs.Sweep()
		now.Results = s.jobs.Stats().Records
	}
	if s.gate != nil {
		stats := s.gate.Stats()
		now.Keys, now.Evicted = stats.Size, stats.Evictions.Idle+stats.Evictions.Forced
	}
	// What is in a pool survives one collection. FreeOSMemory is another one, and
	// gives the pages back, without which RSS tells what was once needed.
	runtime.GC()
	debug.FreeOSMemory()
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	now.Heap, now.RSS, now.Goroutines = int64(heap.HeapAlloc), resident(), runtime.NumGoroutine()

	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(now) // a client that is gone needs no answer
}

// resident returns the resident memory of this process in bytes, 0 if it is not known.
func resident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if v, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
