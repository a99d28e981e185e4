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
			switch w, v = t.insert(p, k, h, now, &Ask{}, nil); v {
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
	v := several
	if h.p.plan.Load().Single {
		v, _, _, _, _ = h.t.takeOne(h.w, h.p, now, n)
	}
	if v < moved {
		return v
	}
	return gone(h.t.rest(v, h.w, h.p, now, n))
}

// gone is a verdict on a pinned key, which only moves once it is released.
func gone(v Verdict) Verdict {
	if v == moved {
		return Gone
	}
	return v
}

// Take is Allow with an explanation that [Pin.Refund] and [Pin.SyncUsed] accept.
func (h *Pin) Take(now clock.Time, a *Ask, r *Result) Verdict {
	// What was given back before this take is read before any word of it; a gift
	// that is under way counts as one to come.
	g := &h.t.cold(h.w.i).gifts
	before := g.w.Load()
	r.Keep = true
	v := h.t.explain(h.w, h.p, now, a, r)
	if v != Allowed || !a.takes() {
		return gone(v)
	}
	r.Done = sum(before)
	r.Known = before&busy == 0 && g.w.Load() == before
	r.Seq = h.t.countSeq(h.w)
	h.t.see(h.w, h.p, r.At)
	return v
}

// Taken is what [Pin.TakeOne] tells beside the verdict and the time: in registers,
// since filling in a [Result] costs more than deciding.
type Taken struct {
	Plan  *bucket.Plan
	Word  uint64
	Done  int64
	Seq   uint64
	Known bool
}

// TakeOne is Take of n tokens where the policy has one token bucket. The verdict is
// [Elsewhere], and nothing has happened, where it has not.
func (h *Pin) TakeOne(now clock.Time, n int64) (v Verdict, at clock.Time, late int64, k Taken) {
	g := &h.t.cold(h.w.i).gifts
	before := g.w.Load()
	v, k.Plan, k.Word, at, late = h.t.takeOne(h.w, h.p, now, n)
	if v >= moved {
		return Elsewhere, 0, 0, Taken{}
	}
	if v == Allowed && n > 0 {
		k.Done = sum(before)
		k.Seq = h.t.countSeq(h.w)
		if clock.Time(h.w.s.seen.Load()) < at {
			h.t.see(h.w, h.p, at)
		}
		k.Known = before&busy == 0 && g.w.Load() == before
	}
	return v, at, late, k
}

// ID names the slot and its incarnation, as Result.Slot does.
func (h *Pin) ID() uint64 { return h.w.id() }

// Charge takes n tokens from every limit, whatever is there.
func (h *Pin) Charge(now clock.Time, n int64) {
	at := h.at(now)
	for _, k := range h.p.plan.Load().Active {
		h.charge(k, at, n)
	}
}

// ChargeLimit is Charge for one limit. It reports false where there is none of that
// name.
func (h *Pin) ChargeLimit(now clock.Time, limit string, n int64) bool {
	plan, found := h.p.plan.Load(), false
	for _, k := range plan.Order {
		if plan.CostName(k) == limit {
			h.charge(k, h.at(now), n)
			found = true
		}
	}
	return found
}

// charge takes n tokens from limit k, and returns by how many more are used then. It
// reports false when the key is gone.
func (h *Pin) charge(k int, at clock.Time, n int64) (added int64, ok bool) {
	word := h.t.word(h.w.i, k)
	for {
		raw, plan := loadWord(word, h.p)
		if !h.w.s.load().same(h.w.m) || !plan.Has(k) {
			return 0, false
		}
		l, cur := h.t.read(h.w, plan, k, raw, at)
		c := h.t.state(h.w, k, l, raw)
		if next, got := l.Force(cur, &c, at, n); got == bucket.Fits && word.CompareAndSwap(raw, next) {
			if l.Kind() == bucket.Budget {
				h.t.spent(h.w.i, l, c.Origin, next)
			}
			return l.Added(cur, next, c.Origin, at, n), true
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
