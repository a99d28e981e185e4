package idem

import (
	"github.com/tickgate/tickgate/clock"
)

// place is a slot in an incarnation. The zero place, whose meta is free, is none.
type place struct {
	i, s uint32 // line, and slot in it
	m    meta
	at   clock.Time // its time
}

func (p place) ok() bool { return p.m != 0 }

// live reports whether the id at p is remembered at now.
func (w *Window) live(p place, now clock.Time) bool { return now.Sub(p.at) < w.ttl }

// search looks for k in the lines that h, the header of its home line, says. It
// must be called with h helped.
//
// A find is right at the second look at meta, in look: the slot was live in one
// incarnation from the first to the second, so bytes and time are that
// incarnation's.
//
// Not to find k is right too, while the header is still h: ids never move, reach
// never shrinks, and k's slot, if it was there when h was loaded, was live and
// would have been met, unless it was freed meanwhile. A slot whose meta changes
// under the look is such a one.
func (w *Window) search(k probe, h header) place {
	i := k.home
	for range h.reach() {
		l := w.line(i)
		for s := range uint32(lineSlots) {
			m := meta(l.metas[s].Load())
			if m&descMask != k.want {
				continue
			}
			if at, ok := w.look(i, s, m, k.id); ok {
				return place{i, s, m, at}
			}
		}
		i = w.ahead(i, 1)
	}
	return place{}
}

// look reports whether slot s of line i, which showed m, live, with an id of equal
// length, holds id, and since when.
func (w *Window) look(i, s uint32, m meta, id string) (clock.Time, bool) {
	words, n, j := w.words(i, s), uint(len(id)), uint(0)
	for ; 8*j+8 <= n; j++ {
		if words[j%8].Load() != whole(id, j) {
			return 0, false
		}
	}
	if n%8 != 0 && words[j%8].Load() != rest(id) {
		return 0, false
	}
	at := clock.Time(w.line(i).times[s].Load())
	return at, meta(w.meta(i, s).Load()) == m
}

// find looks for k. That it does not find k is right at some instant of the call:
// when the header was loaded, or when k's slot was freed meanwhile.
func (w *Window) find(k probe) place {
	h := header(w.line(k.home).header.Load())
	w.help(k.home, h)
	return w.search(k, h)
}

// help makes the slot live that h, the header of line home, announces, if its
// inserter did not come to it. Anybody may call it, any number of times.
//
// Only the announced incarnation is published: private is not live, so the slot is
// still its inserter's, who announced it and will not give it up any more. A helper
// that comes late, when the slot is another inserter's, sees another incarnation
// and leaves it alone; and the swap fails if the slot became live meanwhile.
func (w *Window) help(home uint32, h header) {
	if h.reach() == 0 {
		return
	}
	slot := w.meta(w.ahead(home, h.dist()), h.slot())
	if m := meta(slot.Load()); m.state() == private && m.inc() == h.inc() {
		slot.CompareAndSwap(uint64(m), uint64(m.published()))
	}
}

// remove frees the slot at p and reports whether it was this call that did.
//
// The swap is where the id is forgotten. It fails only if the incarnation is over:
// then somebody else removed the id. It needs nothing of the header, under which a
// concurrent insert of the same id either found the slot, and its call counts as
// before this one, or did not.
func (w *Window) remove(p place) bool {
	if !w.meta(p.i, p.s).CompareAndSwap(uint64(p.m), uint64(p.m.emptied())) {
		return false
	}
	w.uncount(usedOne)
	return true
}
