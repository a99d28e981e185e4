package idem

import (
	"math"

	"github.com/tickgate/tickgate/clock"
)

// passBatch is how many expired ids one call drops when there is no room: a call
// that has to look for them leaves some room to the next ones.
const passBatch = 32

// The hint is a lower bound of the times of all ids held: while that is less than
// a TTL ago none has expired, and a full window says so without a look through it.
// MinInt64 always holds. An odd hint is one that is still to be verified; bounds
// are rounded down to even ones.
//
// A pass through the whole window finds the least time. What it misses is an id
// inserted behind its back. So it starts with a gauge that shows no insert under
// way, and
//
//	pass    stores the bound, odd;  then looks whether the sequence still stands;
//	        if so makes it even, by a swap, else takes it back
//	insert  reserves, which moves the sequence;  then looks at the hint, and takes
//	        it back if its own time is before it;  then becomes visible
//
// An insert that reserves before the pass looks is seen by the pass. One that
// reserves after that sees the bound, odd or even, and if it takes it back the swap
// that makes it even fails. Two passes at once overwrite each other: a bound is
// made even only by a pass that found the same one.

// lowerHint takes the hint back unless it holds for an id of time at.
func (w *Window) lowerHint(at clock.Time) {
	for {
		hint := w.hint.Load()
		if int64(at) >= hint&^1 {
			return
		}
		// A loser looks again at what the hint is now.
		if w.hint.CompareAndSwap(hint, math.MinInt64) {
			return
		}
	}
}

// makeRoom drops expired ids. g is a gauge without room and without an insert under
// way. It reports false if none has expired at now and the gauge is still g, so
// that at that instant all ids, as many as the capacity, are live.
func (w *Window) makeRoom(g gauge, now clock.Time) bool {
	hint := w.hint.Load()
	if hint&1 == 0 && now.Sub(clock.Time(hint)) < w.ttl {
		return gauge(w.gauge.Load()) != g
	}
	freed, least := 0, int64(math.MaxInt64)
	i := w.hand.Load()
	for range w.n {
		if i++; i >= w.n {
			i = 0
		}
		n, t := w.sweepLine(i, now)
		least = min(least, t)
		if freed += n; freed >= passBatch {
			w.hand.Store(i) // two passes at once may both go over what comes next
			return true
		}
	}
	w.hand.Store(i)
	w.verify(hint, least&^1, g)
	return freed > 0 || gauge(w.gauge.Load()) != g
}

// verify makes bound, found by a pass that began at g, the hint instead of old,
// unless something was inserted meanwhile.
func (w *Window) verify(old, bound int64, g gauge) {
	if !w.hint.CompareAndSwap(old, bound|1) {
		return // another pass, or an insert before the bound: leave it
	}
	if gauge(w.gauge.Load()).sequence() != g.sequence() {
		bound = math.MinInt64
		w.hint.Store(bound)
		return
	}
	w.hint.CompareAndSwap(bound|1, bound)
}

// sweepLine drops the expired ids of line i. It returns how many, and the least
// time of the others.
//
// A time is read after meta. If the swap in remove succeeds, meta has not changed
// since, so the time was the one of that incarnation.
func (w *Window) sweepLine(i uint32, now clock.Time) (freed int, least int64) {
	l := w.line(i)
	least = math.MaxInt64
	for s := range uint32(lineSlots) {
		m := meta(l.metas[s].Load())
		if m.state() != live {
			continue
		}
		p := place{i, s, m, clock.Time(l.times[s].Load())}
		switch {
		case w.live(p, now):
			least = min(least, int64(p.at))
		case w.remove(p):
			freed++
		}
	}
	return freed, least
}
