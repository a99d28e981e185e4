package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// watch looks at a run from outside.
type watch struct {
	w      *world
	rss    []float64 // bytes
	at     []float64 // seconds
	most   int       // goroutines
	forced uint64
	began  time.Time
	before int // goroutines before it
	end    int // and after
}

func newWatch(w *world) *watch { return &watch{w: w, began: time.Now()} }

func (v *watch) run(ctx context.Context) {
	for every(ctx, max(v.w.length/120, 100*time.Millisecond)) {
		v.look()
	}
}

// look checks what must hold at any time.
func (v *watch) look() {
	w := v.w
	s := w.gate.Stats()
	if s.Size > s.Capacity {
		w.add("%d keys in a table for %d", s.Size, s.Capacity)
	}
	// Nobody owes for long but few keys, so a full one can always go; but where the clock was
	// set back, keys do not refill until it is where it was.
	if s.Evictions.Forced > v.forced && int64(w.clock.real.Now()) > w.lastBack.Load()+int64(gain) {
		w.add("%d keys that owed were dropped, though full ones were there", s.Evictions.Forced-v.forced)
	}
	v.forced = s.Evictions.Forced
	v.most = max(v.most, runtime.NumGoroutine())
	if rss, ok := resident(); ok {
		v.rss = append(v.rss, rss)
		v.at = append(v.at, time.Since(v.began).Seconds())
	}
}

// resident is the memory that the process has, in bytes.
func resident() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}

// slope is how much the memory grows in a second, over the second half of the run,
// by least squares; and its mean there.
func (v *watch) slope() (perSecond, mean float64) {
	at, rss := v.at[len(v.at)/2:], v.rss[len(v.rss)/2:]
	if len(at) < 2 {
		return 0, 0
	}
	var t, m, tm, tt float64
	for i := range at {
		t, m = t+at[i], m+rss[i]
	}
	n := float64(len(at))
	t, m = t/n, m/n
	for i := range at {
		tm += (at[i] - t) * (rss[i] - m)
		tt += (at[i] - t) * (at[i] - t)
	}
	return tm / tt, m
}

// flat checks that what the slope adds over half the run is below a fiftieth of the
// memory and 8 MiB: the collector's heap goes up and down by some.
func (v *watch) flat() (grown, allowed float64) {
	perSecond, mean := v.slope()
	grown, allowed = perSecond*v.w.length.Seconds()/2, mean/50+8<<20
	if grown > allowed {
		v.w.add("memory grew by %.1f MiB in the second half of the run, of %.1f", grown/(1<<20), mean/(1<<20))
	}
	return grown, allowed
}

// leaks checks that no goroutine is left.
func (v *watch) leaks(w *world, before int) {
	v.before = before
	for range 100 { // one that ends may be seen a moment longer
		if v.end = runtime.NumGoroutine(); v.end <= before {
			return
		}
		debug.FreeOSMemory()
	}
	w.add("%d goroutines are left, before there were %d", v.end, before)
}

func mib(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
