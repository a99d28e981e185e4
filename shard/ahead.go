package shard

import (
	"math"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Ahead takes n tokens now, of every limit, whether they are there or not, and
// returns how long until they would have been: Result.Retry, ns. Only token buckets
// can be taken from ahead of time; the verdict is Elsewhere where the policy has
// another limit. r is what [Pin.Refund] takes back; each, if not nil, what [Pin.Again]
// needs beside it.
func (h *Pin) Ahead(now clock.Time, n int64, r *Result, each *Aheads) Verdict {
	t, w := h.t, h.w
	before := t.cold(w.i).gifts.w.Load()
	at, late := now, int64(0)
	if uint64(now)-uint64(w.s.seen.Load()) > grain {
		at, late = t.touch(w, h.p, now)
	}
	if !w.s.load().same(w.m) {
		return Gone
	}
	for {
		plan := h.p.plan.Load()
		*r = Result{Plan: plan, At: at, Late: late, Slot: w.id(), Keep: true, Ahead: math.MaxInt64, Done: sum(before)}
		if m := w.s.load(); m.barred() {
			if v := t.bars(w, at, late, false); v != Allowed {
				return v
			}
		}
		if v := admit(plan, &Ask{N: n}); v != Allowed {
			return v
		}
		if !plan.Steady() {
			return Elsewhere
		}
		for _, k := range plan.Active {
			if !plan.Limits[k].Fits(n) {
				r.Limit = k
				return TooCostly
			}
		}
		if h.Due(now, n) > maxAhead {
			return Limited
		}
		if h.ahead(plan, n, r, each) {
			break
		}
	}
	r.Seq = t.countSeq(w)
	t.see(w, h.p, r.At)
	r.Known = t.cold(w.i).gifts.w.Load() == before && before&busy == 0
	return Allowed
}

// ahead charges every limit of a plan and explains it. It reports false, with what it
// charged given back, where the policy changes meanwhile.
func (h *Pin) ahead(plan *bucket.Plan, n int64, r *Result, each *Aheads) bool {
	t, w, o := h.t, h.w, bucket.OriginOf(h.w.m.inc())
	try := attempt{plan: plan, at: r.At}
	for i, k := range plan.Active {
		word, l := t.word(w.i, k), &plan.Limits[k]
		for {
			raw := word.Load()
			in, cur := t.read(w, plan, k, raw, r.At)
			if h.p.plan.Load() != plan || in != l {
				t.uncharge(w, h.p, &try, plan.Active[:i])
				return false
			}
			next := l.Charge(cur, o, r.At, n)
			if !word.CompareAndSwap(raw, next) {
				continue
			}
			try.cost[k] = n
			if i == 0 {
				r.First = next
			}
			before := l.AheadBefore(next, o, r.At, n)
			r.Ahead = min(r.Ahead, before)
			if each != nil {
				each[k] = before
			}
			r.Marks[k] = Mark{
				Used: uint32(l.UsedTokens(next, o, r.At)) - t.cold(w.i).corrected[k].Load(), Cost: saturate(n),
			}
			if d := l.Retry(next, o, r.At, 0); i == 0 || d > r.Retry {
				r.Limit, r.Retry, r.Reset = k, d, l.Used(next, o, r.At)
			}
			break
		}
	}
	return true
}

// Again takes n tokens now in place of those that were taken ahead, as r tells, and
// that were there some time ago: what time has refilled of them since is not to pass
// twice. Each limit in one swap, so that nobody comes in between. It returns how long
// until they are there, ns, 0 as a rule; the verdict is Elsewhere where the policy has
// changed. r is what Refund takes back afterwards.
func (h *Pin) Again(now clock.Clock, before Refund, each *Aheads, n int64, r *Result) (Verdict, int64) {
	t, w, o := h.t, h.w, bucket.OriginOf(h.w.m.inc())
	c := t.cold(w.i)
	given, most := c.busyWith(), int64(0)
	defer func() { c.gifts.end(given, most) }()
	plan := h.p.plan.Load()
	if plan.Gen() != before.Gen || !w.s.load().same(w.m) {
		return Elsewhere, 0
	}
	*r = Result{Plan: plan, Slot: w.id(), Keep: true, Ahead: math.MaxInt64}
	due := int64(0)
	for i, k := range plan.Active {
		word, l := t.word(w.i, k), &plan.Limits[k]
		for {
			raw := word.Load()
			if !l.Reads(raw) || h.p.plan.Load().Gen() != plan.Gen() {
				return Elsewhere, 0
			}
			at := max(w.s.newest(now), before.At)
			charged := bucket.Charged{At: before.At, Ahead: each[k], Done: before.Done}
			units, ns := l.GiveBack(charged, at, n, gave(before.Done, given))
			next := l.Charge(l.Lower(raw, o, at, units), o, at, n)
			if !word.CompareAndSwap(raw, next) {
				continue
			}
			most, r.At = max(most, ns), at
			if i == 0 {
				r.First = next
			}
			each[k] = l.AheadBefore(next, o, at, n)
			r.Ahead = min(r.Ahead, each[k])
			r.Marks[k] = Mark{Used: uint32(l.UsedTokens(next, o, at)) - c.corrected[k].Load(), Cost: saturate(n)}
			due = max(due, l.Retry(next, o, at, 0))
			break
		}
	}
	r.Done, r.Known = given+most, true
	return Allowed, due
}

// Aheads are what bucket.Charged.Ahead is of each limit, by index.
type Aheads [bucket.MaxLimits]int64

// maxAhead is how far ahead tokens are taken, 365 days: the words hold a little more.
const maxAhead = 365 * 24 * 3600 * 1_000_000_000

// Due returns how long until n tokens are there, ns, if nobody else takes; n = 0:
// until what was taken ahead is. n may be above the capacity of a token bucket: so
// long does it take to refill that many. It is as the limits are now: a change of
// the policy changes it.
func (h *Pin) Due(now clock.Time, n int64) int64 {
	at := h.at(now)
	for {
		plan := h.p.plan.Load()
		due := int64(0)
		for _, k := range plan.Active {
			raw := h.t.word(h.w.i, k).Load()
			l, cur := h.t.read(h.w, plan, k, raw, at)
			c := h.t.state(h.w, k, l, raw)
			m := n
			if l.Kind() != bucket.TokenBucket {
				m = min(n, l.Most(false))
			}
			due = max(due, l.Wait(cur, &c, at, m, false))
		}
		if h.p.plan.Load() == plan {
			return due
		}
	}
}

// Outlook tells who waits for n tokens whether and when they can be there: how long
// until total tokens are (n and those of others before it), a ban included, ns; or
// that no waiting helps: TooCostly, Blocked, Gone.
func (h *Pin) Outlook(now clock.Time, total, n int64) (v Verdict, due int64) {
	plan := h.p.plan.Load()
	m := h.w.s.load()
	if !m.same(h.w.m) {
		return Gone, 0
	}
	if v := admit(plan, &Ask{N: n}); v != Allowed {
		return v, 0
	}
	if m.barred() && h.t.cold(h.w.i).barsOf(h.w.m)&blockedBar != 0 {
		return Blocked, 0
	}
	for _, k := range plan.Active {
		if !plan.Limits[k].Fits(n) {
			return TooCostly, 0
		}
	}
	return Allowed, max(h.Due(now, total), h.BannedFor(now))
}

// BannedFor returns how long the key is banned still, ns.
func (h *Pin) BannedFor(now clock.Time) int64 {
	c := h.t.cold(h.w.i)
	if c.barsOf(h.w.m)&bannedBar == 0 {
		return 0
	}
	return c.bannedFor(h.t.ownTime(h.w, now))
}
