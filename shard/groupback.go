package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Refund gives back what a take of the group took, as far as time has not refilled
// it since: without what was given back meanwhile, which a group's decision does
// not remember for every key, so it can be less than [Pin.Refund] would give. The
// caller sees to it that no policy was changed in between.
func (g *Group) Refund(at clock.Time, marks *Marks) {
	for number, marked := 0, 0; number < len(g.pins); number++ {
		h := &g.pins[g.slot(number)]
		plan := h.p.plan.Load()
		c := h.t.cold(h.w.i)
		given := c.busyWith()
		most := int64(0)
		for _, k := range plan.Active {
			if marked >= len(marks) {
				break
			}
			if n := int64(marks[marked].Cost); n > 0 {
				most = max(most, h.t.giveBack(h.w, h.p, k, plan, gift{
					n: n, charged: bucket.Charged{At: at}, alone: true,
				}, h.t.clock))
			}
			marked++
		}
		c.gifts.end(given, most)
		h.t.mayBeFull(h.w.i, unknown)
	}
}

// SyncUsed is [Pin.SyncUsed] for the key with the caller's number.
func (g *Group) SyncUsed(now, at clock.Time, marks *Marks, number int, limit string, used int64) bool {
	marked := 0
	for i := range number {
		marked += len(g.pins[g.slot(i)].p.plan.Load().Active)
	}
	h := &g.pins[g.slot(number)]
	plan := h.p.plan.Load()
	var own Marks
	for _, k := range plan.Active {
		if marked >= len(marks) {
			return false
		}
		own[k] = marks[marked]
		marked++
	}
	return h.SyncUsed(now, Synced{At: at, Slot: h.w.id(), Gen: plan.Gen(), Marks: &own}, limit, used)
}
