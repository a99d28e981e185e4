// Package history keeps how many decisions a second a gate made in the last minutes,
// for a plot of them.
package history

import (
	"context"
	"sync"
	"time"

	"github.com/tickgate/tickgate"
)

const (
	// Every is how often the counters are read.
	Every = time.Second
	// Points is how many readings are kept: ten minutes of them.
	Points = 600
)

// Point is what happened in the time before At, since the point before: decisions a
// second.
type Point struct {
	At       time.Time // in whole milliseconds
	Allowed  float64   // Shadowed ones included
	Denied   float64   // by a limit, a block or a ban, for want of a policy, or as malformed
	Shadowed float64   // allowed, and a policy in shadow mode would have denied
}

// History is a ring of points. Its methods may be called by any number of goroutines
// at once.
type History struct {
	stats func() tickgate.Stats
	now   func() time.Time
	start time.Time // times are start and what the monotonic clock has moved on since, in whole ms

	mu   sync.Mutex
	last reading
	ring []Point
	next uint64 // points so far; the next one goes to next % Points
}

// reading is what the counters said at one time.
type reading struct {
	at       time.Time
	policies map[string]tickgate.PolicyStats
	faults   uint64 // denied by no policy
}

// New makes a history of what stats counts from now on, as Gate.Stats does. now is the
// clock of the points, as time.Now.
func New(stats func() tickgate.Stats, now func() time.Time) *History {
	h := &History{stats: stats, now: now, start: now(), ring: make([]Point, 0, Points)}
	h.last = reading{at: h.start.Truncate(time.Millisecond), policies: map[string]tickgate.PolicyStats{}}
	h.count(&Point{}) // what was before does not count
	return h
}

// Run takes a point every second until ctx is done.
func (h *History) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			h.Sample()
		case <-ctx.Done():
			return
		}
	}
}

// Sample takes a point now. It costs microseconds. A process that was stopped for long
// gets one point for that time, with its mean. Two samples in one millisecond are one.
func (h *History) Sample() {
	h.mu.Lock()
	defer h.mu.Unlock()
	// Corrections of the wall clock must not turn points about: the monotonic clock
	// tells how much time has passed.
	at := h.start.Add(h.now().Sub(h.start)).Truncate(time.Millisecond)
	passed := at.Sub(h.last.at)
	if passed <= 0 {
		return
	}
	h.last.at = at
	p := Point{At: at}
	h.count(&p)
	p.Allowed /= passed.Seconds()
	p.Denied /= passed.Seconds()
	p.Shadowed /= passed.Seconds()
	if len(h.ring) < Points {
		h.ring = append(h.ring, p)
	} else {
		h.ring[h.next%Points] = p
	}
	h.next++
}

// count adds to p what the counters say more than the last time. A policy that went
// and came again goes on from where it was.
func (h *History) count(p *Point) {
	s := h.stats()
	for _, c := range s.Policies {
		was := h.last.policies[c.Endpoint]
		p.Allowed += more(c.Allowed, was.Allowed)
		p.Denied += more(c.Denied, was.Denied)
		p.Shadowed += more(c.Shadowed, was.Shadowed)
		h.last.policies[c.Endpoint] = c
	}
	faults := s.NoPolicy + s.BadRequests
	p.Denied += more(faults, h.last.faults)
	h.last.faults = faults
}

func more(n, was uint64) float64 { return float64(n - min(was, n)) }

// Since returns the points after a time, the oldest first.
func (h *History) Since(t time.Time) []Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := uint64(len(h.ring))
	out := make([]Point, 0, n)
	for i := h.next - n; i < h.next; i++ {
		if p := h.ring[i%Points]; p.At.After(t) {
			out = append(out, p)
		}
	}
	return out
}
