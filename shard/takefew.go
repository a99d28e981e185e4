package shard

import (
	"runtime"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// takePair is takeOne for two token buckets: a rate and a burst cap, as most
// policies have them. It looks at both before it charges any. It leaves to takeAll,
// by the verdict several, what is not that case.
func (t *Table) takePair(w place, p *Policy, now clock.Time, n int64) Verdict {
	s, o := w.s, bucket.OriginOf(w.m.inc())
	at := now
	if uint64(now)-uint64(s.seen.Load()) > grain {
		at, _ = t.touch(w, p, now)
	}
	for {
		rawA, rawB := s.words[0].Load(), s.words[1].Load()
		plan := p.plan.Load()
		a, b := &plan.Limits[0], &plan.Limits[1]
		if !plan.Pair || !a.Reads(rawA) || !b.Reads(rawB) {
			return several
		}
		if !s.load().open(w.m) {
			return moved
		}
		if !a.Fits(n) || !b.Fits(n) {
			return TooCostly
		}
		nextA, okA := a.Take(rawA, o, at, n)
		nextB, okB := b.Take(rawB, o, at, n)
		v := Limited
		switch {
		case !okA || !okB:
			if s.words[0].Load() != rawA || s.words[1].Load() != rawB {
				continue // two changes may lie between the words and the plan
			}
		default:
			v = Allowed
			if !s.words[0].CompareAndSwap(rawA, nextA) {
				continue
			}
			if !s.words[1].CompareAndSwap(rawB, nextB) && !t.second(w, p, plan, at, n) {
				continue
			}
		}
		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {
			return v
		}
		return moved
	}
}

// second charges the second of a pair after its word moved. It reports false, with
// the first given back, where it does not fit any more.
func (t *Table) second(w place, p *Policy, plan *bucket.Plan, at clock.Time, n int64) bool {
	try := attempt{plan: plan, at: at}
	try.cost[0], try.cost[1] = n, n
	for t.lookAgain(w, p, &try, 1) {
		if w.s.words[1].CompareAndSwap(try.raw[1], try.next[1]) {
			return true
		}
	}
	t.uncharge(w, p, &try, plan.Active[:1])
	return false
}

// takeLone is takeOne for one limit of another kind than a token bucket.
func (t *Table) takeLone(w place, p *Policy, now clock.Time, n int64) Verdict {
	s := w.s
	at := now
	if uint64(now)-uint64(s.seen.Load()) > grain {
		at, _ = t.touch(w, p, now)
	}
	for {
		raw, plan := loadWord(&s.words[0], p)
		l := &plan.Limits[0]
		if !plan.Lone || !l.Reads(raw) {
			return several
		}
		if !s.load().open(w.m) {
			return moved
		}
		if !l.Fits(n) {
			return TooCostly
		}
		o := bucket.OriginOf(w.m.inc())
		var next uint64
		var got bucket.Outcome
		switch l.Kind() {
		case bucket.Rolling:
			c := bucket.Cell{Word: &s.words[0], Raw: raw, Origin: o, Ring: l.Ring(w.i), Owner: w.m.inc()}
			next, got = l.Try(raw, &c, at, n, false)
		case bucket.Budget:
			next, got = l.TryBudget(raw, o, l.Ring(w.i), at, n, false)
		default:
			next, got = l.TryWindow(raw, o, at, n)
		}
		v := Limited
		if got == bucket.Short && s.words[0].Load() != raw {
			continue // two changes may lie between the word and the plan
		}
		if got == bucket.Stale || got == bucket.Fits && !s.words[0].CompareAndSwap(raw, next) {
			continue
		}
		if got == bucket.Fits {
			v = Allowed
		}
		if l.Kind() == bucket.Budget {
			v = t.noteBudget(w, plan, o, next, v, n)
		}
		runtime.KeepAlive(plan)
		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {
			return v
		}
		return moved
	}
}
