package idem

import (
	"runtime"

	"github.com/tickgate/tickgate/clock"
)

// patience is how many turns of the scheduler a call leaves to one that has taken
// the last room and not published it: it may turn out to be of the same id, or to
// give the room back.
const patience = 1000

// add is AddAt for an id that is one.
//
// The id is written to a private slot first, and becomes visible by the swap of its
// home line's header, which succeeds only if no other id of this home was announced
// since the id was not found. So of two inserts of one id the second fails, searches
// again and finds it. The swap is where Fresh linearizes; a loser goes on with its
// slot, and some other call got in. Duplicate linearizes where search found the id.
//
// An id that is found expired is removed and the search made anew: then it is
// inserted like any other, and of two calls that find it expired only one gets its
// new incarnation through the header.
func (w *Window) add(k probe, now clock.Time) Verdict {
	top := &w.line(k.home).header
	var own place
	var dist uint32
	var g gauge
	for wait := 0; ; {
		h := header(top.Load())
		w.help(k.home, h)
		if p := w.search(k, h); p.ok() {
			if !w.live(p, now) {
				w.remove(p)
				continue
			}
			if own.ok() {
				w.abandon(own)
			}
			return Duplicate
		}
		if !own.ok() {
			var ok bool
			if g, ok = w.reserve(); !ok {
				switch {
				case g.private() > 0:
					if wait++; wait > patience {
						return Full
					}
					runtime.Gosched()
				case w.makeRoom(g, now):
				// With the header as it was and the gauge too, there were capacity ids at
				// that instant, all live, and k was not one.
				case header(top.Load()) == h:
					return Full
				}
				continue
			}
			if own, dist = w.claim(k, now); !own.ok() {
				w.uncount(usedOne + privateOne)
				return Full
			}
			w.lowerHint(now)
		}
		if top.CompareAndSwap(uint64(h), uint64(h.announce(dist, own.s, own.m))) {
			break
		}
	}
	// It is announced: if somebody helped, the swap fails and the slot is live all
	// the same, or was even removed again.
	w.meta(own.i, own.s).CompareAndSwap(uint64(own.m), uint64(own.m.published()))
	w.uncount(privateOne)
	if g.used() > w.cap/2 {
		w.sweepLine(g.sequence()%w.n, now)
	}
	return Fresh
}

// claim takes the first free slot from k's home on and writes k there. A
// reservation was made, so of all slots over half are free. It returns no place if
// none within reach is free, which in a window that has more lines than that chance
// does not bring about. The second result is the distance of the place's line.
func (w *Window) claim(k probe, now clock.Time) (place, uint32) {
	lines := min(w.n, maxReach)
	// In a small window slots may be taken and freed under the look, so that it
	// misses each free one. Twice is enough but for a run of such luck.
	for range 2 {
		for d := range lines {
			i := w.ahead(k.home, d)
			l := w.line(i)
			for s := range uint32(lineSlots) {
				m := meta(l.metas[s].Load())
				if m.state() != free {
					continue
				}
				own := place{i, s, m.claimed(k.want), now}
				// The swap makes the slot ours. It fails if another inserter took it: on
				// to the next.
				if l.metas[s].CompareAndSwap(uint64(m), uint64(own.m)) {
					w.write(i, s, k.id, now)
					return own, d
				}
			}
		}
	}
	return place{}, 0
}

// abandon gives a claimed slot back that was not announced. Nobody else writes to
// it: it is not live, and no header tells a helper of this incarnation.
func (w *Window) abandon(own place) {
	w.meta(own.i, own.s).Store(uint64(own.m.emptied()))
	w.uncount(usedOne + privateOne)
}
