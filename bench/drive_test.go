package bench

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/tickgate/tickgate/bench/internal/load"
)

// calls makes n calls as worker number w and returns how many were allowed. It
// holds the loop itself, so that the call under measurement is a direct one.
type calls func(w, n int) (allowed int)

// drive measures run in g goroutines. Each makes b.N calls, so ns/op is what
// one call costs the caller who makes it, not the time divided over all
// callers. A run in which a call got the other outcome is a failure.
func drive(b *testing.B, g int, l load.Limit, run calls) {
	b.Helper()
	if procs := runtime.GOMAXPROCS(0); procs < g {
		b.Skipf("needs GOMAXPROCS of at least %d, have %d", g, procs)
	}
	allowed := make([]int, g)
	b.ReportAllocs()
	if g == 1 {
		b.ResetTimer()
		allowed[0] = run(0, b.N)
		b.StopTimer()
	} else {
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for w := range g {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				allowed[w] = run(w, b.N)
			})
		}
		ready.Wait()
		b.ResetTimer()
		close(start)
		done.Wait()
		b.StopTimer()
	}
	want := 0
	if l.Outcome == load.Allow.Outcome {
		want = b.N
	}
	for w, got := range allowed {
		if got != want {
			b.Fatalf("worker %d: %d of %d calls allowed, want %d", w, got, b.N, want)
		}
	}
}

// stream is the arrivals of a number of keys, with a place for each worker that
// is kept from one run to the next: a short run does not see the same few keys
// every time, warm in the cache.
type stream struct {
	keys []string
	at   [2]struct {
		i int
		_ [120]byte // two workers, two cache lines
	}
}

func newStream(keys int) *stream {
	s := &stream{keys: arrivals(keys)}
	s.at[1].i = len(s.keys) / 2
	return s
}

var (
	arrivalsMu   sync.Mutex
	arrivalsMade = map[int][]string{}
)

// arrivals is load.Arrivals, made once per number of keys.
func arrivals(keys int) []string {
	arrivalsMu.Lock()
	defer arrivalsMu.Unlock()
	if arrivalsMade[keys] == nil {
		arrivalsMade[keys] = load.Arrivals(keys)
	}
	return arrivalsMade[keys]
}

// count is 1 for an allowed call.
func count(allowed bool) int {
	if allowed {
		return 1
	}
	return 0
}

// leaf is the end of a benchmark's name. It always closes with the number of
// goroutines, so that the suffix of GOMAXPROCS can be told from it.
func leaf(keys int, l load.Limit, g int) string {
	return fmt.Sprintf("keys=%s/outcome=%s/g=%d", load.Label(keys), l.Outcome, g)
}
