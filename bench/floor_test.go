package bench

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/bench/internal/raw"
	"github.com/tickgate/tickgate/clock"
)

// sink takes the results of loops that would otherwise have none.
var sink atomic.Uint64

// BenchmarkFloor measures what no limiter on this machine can do without: one
// reading of a clock, one compare-and-swap, one hash of the key, one random
// cache line. The ratios of cmd/table are to these.
func BenchmarkFloor(b *testing.B) {
	b.Run("op=rdtsc/g=1", func(b *testing.B) {
		if !raw.Supported {
			b.Skip("no counter is read on this architecture")
		}
		var x uint64
		for range b.N {
			x ^= raw.Counter()
		}
		sink.Store(x)
	})
	b.Run("op=tsc-now/g=1", func(b *testing.B) {
		c := counterClock(b)
		b.ResetTimer() // the first to ask waits while the counter is measured
		var x clock.Time
		for range b.N {
			x ^= c.Now()
		}
		sink.Store(uint64(x))
	})
	b.Run("op=tsc-unordered/g=1", func(b *testing.B) {
		c := counterClock(b)
		b.ResetTimer() // the first to ask waits while the counter is measured
		var x clock.Time
		for range b.N {
			x ^= c.NowUnordered()
		}
		sink.Store(uint64(x))
	})
	b.Run("op=runtime/g=1", func(b *testing.B) {
		base := time.Now()
		var x time.Duration
		for range b.N {
			x ^= time.Since(base)
		}
		sink.Store(uint64(x))
	})
	b.Run("op=cas/g=1", func(b *testing.B) { floorCAS(b, 1) })
	b.Run("op=cas/g=2", func(b *testing.B) { floorCAS(b, 2) })
	b.Run("op=add/g=1", func(b *testing.B) {
		w := newWord()
		for range b.N {
			w.Add(1)
		}
		sink.Store(w.Load())
	})
	b.Run("op=xxhash/bytes=24/g=1", func(b *testing.B) {
		key := load.Key(0)
		var x uint64
		for range b.N {
			x ^= xxhash.Sum64String(key)
		}
		sink.Store(x)
	})
	b.Run("op=xxhash/bytes=24+9/g=1", func(b *testing.B) {
		key, endpoint := load.Key(0), endpointName
		var x uint64
		for range b.N {
			x ^= xxhash.Sum64String(key) + xxhash.Sum64String(endpoint)
		}
		sink.Store(x)
	})
	b.Run("op=line/table=64MB/g=1", floorLine)
}

// counterClock is the clock on the counter as its own type, so that its methods
// are called directly.
func counterClock(b *testing.B) *clock.TSC {
	b.Helper()
	c, ok := clockNamed(b, "tsc").(*clock.TSC)
	if !ok {
		b.Fatal("clock.NewTSC returned another type than *clock.TSC")
	}
	return c
}

// floorCAS is a load and a compare-and-swap of one word by g goroutines. A
// failed swap is tried again, as a limiter must.
func floorCAS(b *testing.B, g int) {
	w := newWord()
	drive(b, g, load.Allow, func(_, n int) int {
		for range n {
			for {
				old := w.Load()
				if w.CompareAndSwap(old, old+1) {
					break
				}
			}
		}
		return n
	})
}

// newWord returns an atomic word at the start of a cache line of its own.
func newWord() *atomic.Uint64 {
	const line = 64
	words := make([]atomic.Uint64, 3*line/8)
	i := 0
	for uintptr(unsafe.Pointer(&words[i]))%line != 0 {
		i++
	}
	return &words[i]
}

// floorLine reads one word of a random line of a table of 64 MB. The place of
// each read depends on the one before, as a caller's next request comes after
// its last decision.
func floorLine(b *testing.B) {
	const lines = 64 << 20 / 64
	table := make([][8]uint64, lines)
	for i := range table {
		table[i][0] = uint64(i) * 0x9e3779b97f4a7c15
	}
	b.ResetTimer()
	x := uint64(1)
	for range b.N {
		x = x*0x5851f42d4c957f2d + table[x>>44&(lines-1)][0] + 1
	}
	sink.Store(x)
}
