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
// (bucket.GiveBack). now is the gate's clock.
//
// What is given back on a key must be known to other refunds of it, before the
// word shows it (begun) and after (done): a refund looks at begun, and compares
// it with what done was before its own take. Between the two counters lies what
// is on its way, and it counts against the refund either way.
func (h *Pin) Refund(r Refund, now clock.Clock) {
	if r.Slot != h.w.id() || r.N <= 0 {
		return
	}
	plan, o := h.p.plan.Load(), bucket.OriginOf(h.w.m.inc())
	c := h.t.cold(h.w.i)
	begun := c.begun.Load()
	rest := plan.Active
	if plan.Gen() == r.Gen && h.undo(c, plan, o, r) {
		rest = rest[1:]
	}
	may := func(k int, given int64) (clock.Time, uint64, int64) {
		at := max(h.w.s.newest(now), r.At)
		units, ns := plan.Limits[k].GiveBack(r.Charged, at, r.N, given)
		return at, units, ns
	}
	var units [bucket.MaxLimits]uint64
	for {
		var most int64
		for _, k := range rest {
			if !plan.Had(k, r.Gen) {
				continue // nothing was taken from it, or in other units
			}
			var ns int64
			_, units[k], ns = may(k, begun-r.Done)
			most = max(most, ns)
		}
		if most == 0 {
			return
		}
		if len(rest) < len(plan.Active) {
			c.begun.Add(most) // begun holds undo's own share already, which is not R
		} else if !c.begun.CompareAndSwap(begun, begun+most) {
			begun = c.begun.Load()
			continue
		}
		for _, k := range rest {
			if units[k] > 0 {
				h.t.lower(h.w, k, plan, o, units[k], func() (clock.Time, uint64) {
					at, most, _ := may(k, begun-r.Done)
					return at, most
				})
			}
		}
		c.done.Add(most)
		return
	}
}

// undo gives the whole charge back on the first limit, if nobody charged the key
// since: every take charges the first limit first, so its word tells. Then time
// refilled only this charge, and giving it all back leaves the bucket as full as
// time would have made it.
func (h *Pin) undo(c *cold, plan *bucket.Plan, o bucket.Origin, r Refund) bool {
	if len(plan.Active) == 0 {
		return false
	}
	k := plan.Active[0]
	l := &plan.Limits[k]
	units, ns := l.GiveBack(bucket.Charged{At: r.At}, r.At, r.N, 0)
	c.begun.Add(ns)
	if !h.t.word(h.w.i, k).CompareAndSwap(r.First, l.Lower(r.First, o, r.At, units)) {
		c.begun.Add(-ns) // whoever counted it meanwhile gave back less
		return false
	}
	c.done.Add(ns)
	return true
}

// Credit gives n tokens back that nobody of ours took back: whoever counts in
// truth says so. It goes down to nothing used.
func (h *Pin) Credit(now clock.Time, n int64) {
	at, o := h.at(now), bucket.OriginOf(h.w.m.inc())
	c := h.t.cold(h.w.i)
	for _, k := range h.p.plan.Load().Active {
		word := h.t.word(h.w.i, k)
		for {
			raw, plan := loadWord(word, h.p)
			if !h.w.s.load().same(h.w.m) {
				return
			}
			next, ns := plan.Limits[k].Credit(plan.Current(k, raw, o, at), o, at, n)
			c.begun.Add(ns)
			ok := word.CompareAndSwap(raw, next)
			c.done.Add(ns)
			if ok {
				break
			}
		}
	}
}
