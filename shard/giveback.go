package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Refund is what [Pin.Take] told of a take that is to be given back.
type Refund struct {
	bucket.Charged
	N     int64
	Slot  uint64 // Result.Slot: another key's is refused
	First uint64 // Result.First
	Gen   uint32 // of the plan it was taken under
}

// Refund gives back what a take took, as far as time has not refilled it already
// (bucket.GiveBack). now is the gate's clock. It gives back nothing on a limit
// that came, or changed its rate, after the take; and nothing at all in the rare
// case that gifts says.
func (h *Pin) Refund(r Refund, now clock.Clock) {
	if r.Slot != h.w.id() || r.N <= 0 {
		return
	}
	g := &h.t.cold(h.w.i).gifts
	given, ok := g.begin(giftTries)
	if !ok {
		return
	}
	plan := h.p.plan.Load()
	since, most := given-r.Done, int64(0)
	for i, k := range plan.Active {
		if !plan.Had(k, r.Gen) {
			continue
		}
		most = max(most, h.t.lower(h.w, h.p, k, plan, func(raw uint64) (units uint64, ns int64, at clock.Time) {
			if i == 0 && since == 0 && raw == r.First {
				// Nobody took or gave since: every take charges the first limit. Then
				// time refilled only this charge, and giving it all back leaves the
				// bucket as full as time would have made it.
				units, ns = plan.Limits[k].GiveBack(bucket.Charged{At: r.At}, r.At, r.N, 0)
				return units, ns, r.At
			}
			at = max(h.w.s.newest(now), r.At)
			units, ns = plan.Limits[k].GiveBack(r.Charged, at, r.N, since)
			return units, ns, at
		}))
	}
	g.end(given, most)
}

// lower gives back on word k what may says for the word as it was loaded, and
// returns what that was, ns. may asks for the time, which bounds those of the
// takes that are in the word, after the word was loaded. If the plan changed
// since, nothing is given: the units are the old plan's. The parity alone would
// not tell, since that of the generation after the next is the same. The key is
// busy.
func (t *Table) lower(w place, p *Policy, k int, plan *bucket.Plan, may func(raw uint64) (units uint64, ns int64, at clock.Time)) int64 {
	word, o := t.word(w.i, k), bucket.OriginOf(w.m.inc())
	for {
		raw := word.Load()
		units, ns, at := may(raw)
		if units == 0 || bucket.Parity(raw) != plan.Parity() || p.plan.Load().Gen() != plan.Gen() || !w.s.load().same(w.m) {
			return 0
		}
		if word.CompareAndSwap(raw, plan.Limits[k].Lower(raw, o, at, units)) {
			return ns
		}
	}
}

// Credit gives n tokens back that nobody of ours took back: whoever counts in
// truth says so. It goes down to nothing used.
func (h *Pin) Credit(now clock.Time, n int64) {
	at, o := h.at(now), bucket.OriginOf(h.w.m.inc())
	g := &h.t.cold(h.w.i).gifts
	given, ok := g.begin(giftTries)
	if !ok {
		return
	}
	most := int64(0)
	for _, k := range h.p.plan.Load().Active {
		word := h.t.word(h.w.i, k)
		for {
			raw, plan := loadWord(word, h.p)
			next, ns := plan.Limits[k].Credit(plan.Current(k, raw, o, at), o, at, n)
			if !h.w.s.load().same(h.w.m) {
				break
			}
			if word.CompareAndSwap(raw, next) {
				most = max(most, ns)
				break
			}
		}
	}
	g.end(given, most)
}
