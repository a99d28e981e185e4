package main

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// result is what one library costs. Bytes per key are differences between the
// process after and before, divided by the number of keys.
type result struct {
	Lib     string  `json:"lib"`
	Keys    int     `json:"keys"`
	Kept    int     `json:"kept"`           // keys whose state was still there in the end
	RSS     float64 `json:"rss_per_key"`    // bytes of resident memory, as the kernel's status says
	Touched float64 `json:"touch_per_key"`  // resident bytes of anonymous mappings
	Mapped  float64 `json:"mapped_per_key"` // bytes of writable anonymous mappings, touched or not
	Heap    float64 `json:"heap_per_key"`   // bytes of the Go heap in use
	GCEmpty gcTime  `json:"gc_empty"`       // a garbage collection before
	GCFull  gcTime  `json:"gc_full"`        // and after
}

// measure fills a limiter with keys and takes the difference. Every key is a
// string of its own, made for the call: a limiter that keeps it pays for it, one
// that copies the bytes leaves it to the garbage collector.
func measure(name string, keys, room int) (result, error) {
	r := result{Lib: name, Keys: keys}
	r.GCEmpty = collection()
	before, err := readProcess()
	if err != nil {
		return r, err
	}
	allow, closer, err := open(name, keys, room)
	if err != nil {
		return r, err
	}
	for i := range keys {
		allow(load.Key(i))
	}
	r.GCFull = collection()
	after, err := readProcess()
	if err != nil {
		return r, err
	}
	// The one token of every key is spent: a key that passes again was dropped.
	for i := range keys {
		if !allow(load.Key(i)) {
			r.Kept++
		}
	}
	per := func(after, before int64) float64 { return float64(after-before) / float64(keys) }
	r.RSS = per(after.rss, before.rss)
	r.Touched = per(after.touched, before.touched)
	r.Mapped = per(after.mapped, before.mapped)
	r.Heap = per(after.heap, before.heap)
	return r, closer.Close()
}

// gcTime is how long runtime.GC takes. On a machine that is busy otherwise the
// collector waits for a processor, which the median shows and the least does not.
type gcTime struct {
	Median time.Duration `json:"median_ns"`
	Least  time.Duration `json:"least_ns"`
}

// collections is how many garbage collections are timed.
const collections = 21

// collection times garbage collections, and leaves the free memory of the heap
// with the kernel.
func collection() gcTime {
	debug.FreeOSMemory()
	times := make([]time.Duration, collections)
	for i := range times {
		start := time.Now()
		runtime.GC()
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	debug.FreeOSMemory()
	return gcTime{Median: times[len(times)/2], Least: times[0]}
}

// allowFunc makes one call for a key.
type allowFunc func(key string) bool
