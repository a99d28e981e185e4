package server

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Headroom lets the garbage collector leave about so many bytes of garbage before it
// runs, where its own rule, as much as there is of live memory, would leave less: in a
// server with little in its heap it would run tens of times a second, which takes some
// 5 % of the processors. Call it when what lasts was made. It returns the percentage
// that it set, at least the usual 100; 0 if the operator set GOGC, which it respects.
func Headroom(bytes uint64) int {
	if os.Getenv("GOGC") != "" {
		return 0
	}
	runtime.GC() // so that HeapAlloc is what lives
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	percent := headroom(bytes, m.HeapAlloc)
	debug.SetGCPercent(percent)
	return percent
}

// maxHeadroom keeps the percentage in bounds where hardly anything lives.
const maxHeadroom = 1600

func headroom(bytes, live uint64) int {
	return int(min(max(100, 100*bytes/max(live, 1)), maxHeadroom))
}
