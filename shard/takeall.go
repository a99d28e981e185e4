package shard

import (
	"math"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// words is one attempt to take from every limit of a policy.
type words struct {
	raw  [bucket.MaxLimits]uint64 // as loaded
	cur  [bucket.MaxLimits]uint64 // as the plan reads it
	next [bucket.MaxLimits]uint64 // after the take
}

// takeAll takes n tokens from every limit of the slot at w, or from none.
//
// It looks at all limits before it charges any, so a denial usually writes
// nothing. Only when another taker comes in between, a limit that was looked at
// can fail to be charged; then the ones already charged are given back. Between
// the two, others may see less than there is, never more.
func (t *Table) takeAll(w place, p *Policy, now clock.Time, n int64, r *Result) Verdict {
	at, late := now, int64(0)
	if uint64(now)-uint64(w.s.seen.Load()) > grain {
		at, late = t.touch(w, p, now)
	}
	o := bucket.OriginOf(w.m.inc())
	*r = Result{At: at, Late: late, Orig: o, Slot: w.id(), Keep: r.Keep}
	var ws words
	for {
		plan := p.plan.Load()
		for _, k := range plan.Active {
			ws.raw[k] = t.word(w.i, k).Load()
		}
		// The words are read by a plan that was in force before and after they were
		// loaded; and they are this key's.
		if p.plan.Load() != plan {
			continue
		}
		if !w.s.load().same(w.m) {
			return moved
		}
		r.Plan = plan
		if plan.Deny {
			return TooCostly
		}
		if len(plan.Active) == 0 {
			return Allowed
		}
		v := ws.look(plan, o, at, n, r)
		if v == Allowed && n > 0 && !t.charge(w, p, plan, &ws, o, at, n) {
			continue
		}
		if !w.s.settle(w.m) {
			return moved
		}
		if v == Allowed {
			if n == 0 {
				ws.next = ws.cur
			}
			r.tightest(func(k int) uint64 { return ws.next[k] })
			r.First = ws.next[plan.Active[0]]
			if r.Keep {
				r.Ahead = math.MaxInt64
				for _, k := range plan.Active {
					r.Ahead = min(r.Ahead, plan.Limits[k].AheadBefore(ws.next[k], o, at, n))
				}
			}
		}
		return v
	}
}

// look computes what n tokens would make of every word, and which limit denies
// longest.
func (ws *words) look(plan *bucket.Plan, o bucket.Origin, at clock.Time, n int64, r *Result) Verdict {
	v, wait := Allowed, int64(-1)
	for _, k := range plan.Active {
		l := &plan.Limits[k]
		ws.cur[k] = plan.Current(k, ws.raw[k], o, at)
		if !l.Fits(n) {
			r.Limit, r.Word = k, ws.cur[k]
			return TooCostly
		}
		next, ok := l.Take(ws.cur[k], o, at, n)
		ws.next[k] = next
		if !ok {
			v = Limited
			if d := l.Retry(ws.cur[k], o, at, n); d > wait {
				wait, r.Limit, r.Word = d, k, ws.cur[k]
			}
		}
	}
	return v
}

// charge swaps in every word of ws. It reports false, with everything given
// back, when a word moved so that its limit no longer fits, or the plan changed.
func (t *Table) charge(w place, p *Policy, plan *bucket.Plan, ws *words, o bucket.Origin, at clock.Time, n int64) bool {
	for j, k := range plan.Active {
		word, l := t.word(w.i, k), &plan.Limits[k]
		for !word.CompareAndSwap(ws.raw[k], ws.next[k]) {
			ok := false
			ws.raw[k] = word.Load()
			if p.plan.Load() == plan && w.s.load().same(w.m) {
				ws.cur[k] = plan.Current(k, ws.raw[k], o, at)
				ws.next[k], ok = l.Take(ws.cur[k], o, at, n)
			}
			if !ok {
				t.uncharge(w, p, plan, plan.Active[:j], at, n)
				return false
			}
		}
	}
	return true
}

// uncharge gives back what an attempt took from the limits done: what time has not
// refilled meanwhile (bucket.GiveBack), reckoned from the charge itself, which
// needs no knowledge of other gifts.
func (t *Table) uncharge(w place, p *Policy, plan *bucket.Plan, done []int, at clock.Time, n int64) {
	if len(done) == 0 {
		return
	}
	g := &t.cold(w.i).gifts
	given, ok := g.begin(rollbackTries)
	if !ok {
		return
	}
	most := int64(0)
	for _, k := range done {
		most = max(most, t.lower(w, p, k, plan, func(uint64) (units uint64, ns int64, latest clock.Time) {
			latest = max(w.s.newest(t.clock), at)
			units, ns = plan.Limits[k].GiveBack(bucket.Charged{At: at}, latest, n, 0)
			return units, ns, latest
		}))
	}
	g.end(given, most)
	t.mayBeFull(w.i, at)
}

// tightest fills in the limit with the fewest tokens left.
func (r *Result) tightest(word func(k int) uint64) {
	least := int64(math.MaxInt64)
	for i, k := range r.Plan.Active {
		w := word(k)
		if left := r.Plan.Limits[k].Remaining(w, r.Orig, r.At); i == 0 || left < least {
			least, r.Limit, r.Word = left, k, w
		}
	}
}
