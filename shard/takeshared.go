package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// takeShared is takeOne for a token bucket and a budget beside it. It looks at both
// before it charges any, and charges the budget first. It leaves to takeAll, by the
// verdict several, what is not that case.
func (t *Table) takeShared(w place, p *Policy, now clock.Time, n int64) Verdict {
	s, o := w.s, bucket.OriginOf(w.m.inc())
	at := now
	if uint64(now)-uint64(s.seen.Load()) > grain {
		at, _ = t.touch(w, p, now)
	}
	for {
		rawA, rawB := s.words[0].Load(), s.words[1].Load()
		plan := p.plan.Load()
		a, b := &plan.Limits[0], &plan.Limits[1]
		if !plan.Shared || !a.Reads(rawA) || !b.Reads(rawB) {
			return several
		}
		if !s.load().open(w.m) {
			return moved
		}
		if !a.Fits(n) || !b.Fits(n) {
			return TooCostly
		}
		nextA, okA := a.Take(rawA, o, at, n)
		nextB, got := b.TryBudget(rawB, o, bucket.Ring{}, at, n, false)
		v := Allowed
		switch {
		case !okA || got != bucket.Fits:
			if s.words[0].Load() != rawA || s.words[1].Load() != rawB {
				continue // two changes may lie between the words and the plan
			}
			if v = Limited; okA {
				v = Unsettled
				t.wanted(w, plan, 1)
			}
		case n > 0:
			if !s.words[1].CompareAndSwap(rawB, nextB) {
				continue
			}
			if !s.words[0].CompareAndSwap(rawA, nextA) && !t.afterBudget(w, p, plan, nextB, at, n) {
				continue
			}
			t.spent(w.i, b, o, nextB)
		}
		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {
			return v
		}
		return moved
	}
}

// afterBudget charges the bucket after its word moved. It reports false, with the
// budget given back, where it does not fit any more.
func (t *Table) afterBudget(w place, p *Policy, plan *bucket.Plan, charged uint64, at clock.Time, n int64) bool {
	try := attempt{plan: plan, at: at}
	try.cost[0], try.cost[1], try.next[1] = n, n, charged
	for t.lookAgain(w, p, &try, 0) {
		if w.s.words[0].CompareAndSwap(try.raw[0], try.next[0]) {
			return true
		}
	}
	t.uncharge(w, p, &try, plan.Order[:1])
	return false
}
