package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Pin is a key that stays in the table: while pinned, nobody closes, evicts or
// drops its slot. It is looked up once and then used directly.
type Pin struct {
	t *Table
	p *Policy
	w place
}

// Pin looks k up, brings it in if it is new, and pins it. The verdict is Allowed,
// or Full when there is no room or the key has as many pins as it can.
func (t *Table) Pin(p *Policy, k *Key, now clock.Time) (Pin, Verdict) {
	for {
		w, h, ok := t.find(k)
		if !ok {
			var v Verdict
			switch w, v = t.insert(p, k, h, now, 0, nil); v {
			case moved:
				continue
			case Allowed:
			default:
				return Pin{}, v
			}
		}
		switch ok, full := w.pin(handlePins); {
		case ok:
			return Pin{t, p, w}, Allowed
		case full:
			return Pin{}, Full
		}
	}
}

// pin adds a pin if there are fewer than most, and reopens the slot if it was
// closing. It reports false when the slot lost its key, or has most pins.
func (w *place) pin(most meta) (ok, full bool) {
	for {
		m := w.s.load()
		switch {
		case !m.same(w.m) || !m.visible():
			return false, false
		case m&pinMask >= most:
			return false, true
		case w.s.swap(m, (m + pinOne).with(live)):
			return true, false
		}
	}
}

// unpin takes a pin back.
func (w *place) unpin() {
	for {
		m := w.s.load()
		if !m.same(w.m) || !m.pinned() || w.s.swap(m, m-pinOne) {
			return
		}
	}
}

// Release gives the pin back. It must be called once.
func (h *Pin) Release() {
	h.w.unpin()
	// While pinned, the key did not count in its block's hint.
	h.t.mayBeFull(h.w.i, unknown)
}

// Policy returns the policy of the key.
func (h *Pin) Policy() *Policy { return h.p }

// Allow takes n tokens at now and reports whether they were there.
func (h *Pin) Allow(now clock.Time, n int64) Verdict {
	v, _, _, _, _ := h.t.takeOne(h.w, h.p, now, n)
	if v < moved {
		return v
	}
	return h.rest(v, now, n)
}

func (h *Pin) rest(v Verdict, now clock.Time, n int64) Verdict {
	if v == several {
		var r Result
		v = h.t.takeAll(h.w, h.p, now, n, &r)
	}
	if v == moved {
		return Gone
	}
	return v
}

// Take is Allow with an explanation that [Pin.Refund] accepts.
func (h *Pin) Take(now clock.Time, n int64, r *Result) Verdict {
	// What was given back before this take is read before any word of it; a gift
	// that is under way counts as one to come.
	done := h.t.cold(h.w.i).gifts.given()
	r.Keep = true
	v := h.t.explain(h.w, h.p, now, n, r)
	if v == moved {
		return Gone
	}
	r.Done = done
	if v == Allowed && n > 0 {
		h.t.see(h.w, h.p, r.At)
	}
	return v
}

// Charge takes n tokens, whatever is there.
func (h *Pin) Charge(now clock.Time, n int64) {
	at, o := h.at(now), bucket.OriginOf(h.w.m.inc())
	for _, k := range h.p.plan.Load().Active {
		word := h.t.word(h.w.i, k)
		for {
			raw, plan := loadWord(word, h.p)
			if !h.w.s.load().same(h.w.m) {
				return
			}
			if word.CompareAndSwap(raw, plan.Limits[k].Charge(plan.Current(k, raw, o, at), o, at, n)) {
				break
			}
		}
	}
}

// at is now on the key's axis.
func (h *Pin) at(now clock.Time) clock.Time {
	if uint64(now)-uint64(h.w.s.seen.Load()) > grain {
		now, _ = h.t.touch(h.w, h.p, now)
	}
	return now
}
