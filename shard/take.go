package shard

import (
	"math"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Verdict is the outcome of a take.
type Verdict uint8

// The verdicts. Moved and several never leave the package.
const (
	Allowed   Verdict = iota
	Limited           // the tokens are not there now
	TooCostly         // more than a limit's capacity
	Full              // no room for the key
	Gone              // the handle was released
	Blocked           // the key, or everybody, is blocked
	Banned            // the key is banned
	BadAsk            // a cost for a limit that the policy does not have, or below zero
	Unsettled         // what may be used before the common account answers is used up
	Elsewhere         // not decided: ask Take
	moved             // the slot lost its key meanwhile, or it is barred: nothing happened
	several           // the policy has not one token bucket in word 0
)

// Result explains a take. Its zero value is ready for use.
type Result struct {
	Plan  *bucket.Plan
	Limit int // index of the limit that decided; the tightest when allowed; see [Result.Name]

	Remaining int64 // tokens left there
	Retry     int64 // ns until the same passes; 0 when allowed
	Reset     int64 // ns until nothing is used there
	Window    int64 // bucket.Limit.Window of it

	At    clock.Time // when it was decided, on the key's axis
	Late  int64      // by how much that is later than the caller's time, ns
	Slot  uint64     // slot and incarnation, to recognize the key by
	First uint64     // word of the first limit, after what was taken
	Ahead int64      // see bucket.Charged; filled where Keep is set
	Done  int64      // likewise
	Seq   uint64     // admissions of the key, this one included; likewise
	Marks Marks      // likewise
	Keep  bool       // set by the caller: the take may be refunded
	Known bool       // Marks tell what was used
}

// Mark is what a take leaves of one limit.
type Mark struct {
	Used uint32 // tokens used after it, less what SyncUsed had corrected; modulo 2^32
	Cost uint32 // what it took
}

// Marks are the marks of all limits, by index.
type Marks [bucket.MaxLimits]Mark

// Name returns the name of the limit that decided, "" if the policy has none.
func (r *Result) Name() string {
	switch {
	case r.Plan == nil:
		return ""
	case r.Plan.Deny:
		return r.Plan.DenyName
	}
	return r.Plan.CostName(r.Limit)
}

// Explained reports whether there is a limit, and a word of it, to tell more of.
func (r *Result) Explained() bool {
	return r.Plan != nil && !r.Plan.Deny && len(r.Plan.Active) > 0
}

// Allow takes n tokens for k at now and reports whether they were there.
func (t *Table) Allow(p *Policy, k *Key, now clock.Time, n int64) Verdict {
	for {
		w, h, ok := t.find(k)
		var v Verdict
		if ok {
			if v, _, _, _, _ = t.takeOne(w, p, now, n); v >= moved {
				v = t.rest(v, w, p, now, n)
			}
		} else {
			_, v = t.insert(p, k, h, now, &Ask{N: n}, nil)
		}
		if v != moved {
			return v
		}
	}
}

// rest decides what takeOne did not: a policy that is not the usual case, or a key
// that is barred.
func (t *Table) rest(v Verdict, w place, p *Policy, now clock.Time, n int64) Verdict {
	if v == several {
		switch plan := p.plan.Load(); {
		case plan.Pair:
			v = t.takePair(w, p, now, n)
		case plan.Lone:
			v = t.takeLone(w, p, now, n)
		case plan.Shared:
			v = t.takeShared(w, p, now, n)
		}
		if v < moved {
			return v
		}
	}
	if m := w.s.load(); v == several || m.same(w.m) && m.barred() {
		v = t.takeAll(w, p, now, &Ask{N: n}, nil)
	}
	return v
}

// Take is Allow with an explanation. What asks for nothing looks without taking:
// it inserts nothing, and an unknown key is answered for as a full one.
func (t *Table) Take(p *Policy, k *Key, now clock.Time, a *Ask, r *Result) Verdict {
	takes := a.takes()
	for {
		w, h, ok := t.find(k)
		if !ok && !takes {
			w, ok = t.findPending(k)
		}
		var v Verdict
		switch {
		case ok:
			v = t.explain(w, p, now, a, r)
		case !takes:
			if v = t.barredName(k, a); v == Allowed {
				v = unheld(p.plan.Load(), now, a, r)
			}
		default:
			_, v = t.insert(p, k, h, now, a, r)
		}
		if v != moved {
			return v
		}
	}
}

// unheld answers for a key that is not in the table: its limits are all full.
func unheld(plan *bucket.Plan, now clock.Time, a *Ask, r *Result) Verdict {
	if r != nil {
		*r = Result{Plan: plan, At: now, Keep: r.Keep}
	}
	v, least := admit(plan, a), int64(math.MaxInt64)
	if v != Allowed {
		return v
	}
	takes, found := a.takes(), false
	for _, k := range plan.Active {
		most, n := plan.Limits[k].Most(a.Urgent), a.of(plan, k)
		if n > most {
			v = TooCostly
		}
		if r != nil && (n > 0 || !takes) && (!found || most < least || v == TooCostly) {
			least, found, r.Limit, r.Remaining = most, true, k, most
		}
		if v == TooCostly {
			return v
		}
		if l := &plan.Limits[k]; l.Kind() == bucket.Budget && n > 0 && l.Refuses(a.Urgent) {
			v = Unsettled
			if r != nil {
				r.Limit, r.Retry, r.Remaining = k, l.Hint(), 0
			}
			return v
		}
	}
	return v
}

// admit looks at what does not depend on any word.
func admit(plan *bucket.Plan, a *Ask) Verdict {
	switch {
	case plan.Blocked && !a.Urgent:
		return Blocked
	case plan.Deny:
		return TooCostly
	case len(a.Costs) > 0 && !a.known(plan):
		return BadAsk
	}
	return Allowed
}

// explain takes at a place and fills r.
func (t *Table) explain(w place, p *Policy, now clock.Time, a *Ask, r *Result) Verdict {
	if a.Urgent || len(a.Costs) > 0 {
		return t.takeAll(w, p, now, a, r)
	}
	n := a.N
	v, plan, word, at, late := t.takeOne(w, p, now, n)
	if v >= moved {
		return t.takeAll(w, p, now, a, r)
	}
	l, o := &plan.Limits[0], bucket.OriginOf(w.m.inc())
	*r = Result{
		Plan: plan, First: word, At: at, Late: late, Slot: w.id(), Keep: r.Keep,
		Remaining: l.Remaining(word, o, at), Reset: l.Used(word, o, at),
	}
	if v == Limited {
		r.Retry = l.Retry(word, o, at, n)
	}
	if v == Allowed && r.Keep {
		r.Ahead = l.AheadBefore(word, o, at, n)
		r.Marks[0] = Mark{
			Used: uint32(l.UsedTokens(word, o, at)) - t.cold(w.i).corrected[0].Load(), Cost: saturate(n),
		}
	}
	return v
}

// saturate makes a cost one that fits a mark. One that does not is not given back
// in full.
func saturate(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

// takeOne takes n tokens from the only limit of the slot at w. It returns the
// plan it was taken under, the word after it, the time it was decided at, and by
// how much that is later than now.
//
// It linearizes at the compare-and-swap where it takes, else at the load of the
// word. The load counts only if meta shows w's incarnation after it: then the
// word was this key's. A swap that succeeds on it cannot have hit another key,
// whose axis has another origin; but the slot may have been given up in
// between, and then the take did not happen. A word of the generation before, and
// a barred key, are left to takeAll.
func (t *Table) takeOne(w place, p *Policy, now clock.Time, n int64) (v Verdict, plan *bucket.Plan, word uint64, at clock.Time, late int64) {
	s, o := w.s, bucket.OriginOf(w.m.inc())
	at = now
	if uint64(now)-uint64(s.seen.Load()) > grain {
		at, late = t.touch(w, p, now)
	}
	for {
		raw, plan := loadWord(&s.words[0], p)
		l := &plan.Limits[0]
		if !plan.Single || !l.Reads(raw) {
			return several, plan, 0, at, late
		}
		if !s.load().open(w.m) {
			return moved, plan, 0, at, late
		}
		if !l.Fits(n) {
			return TooCostly, plan, raw, at, late
		}
		next, ok := l.Take(raw, o, at, n)
		switch {
		case (!ok || n == 0) && s.words[0].Load() != raw:
			continue // two changes may lie between the word and the plan
		case !ok:
			v = Limited
		case n == 0:
			next = raw // a look changes nothing
		case !s.words[0].CompareAndSwap(raw, next):
			continue
		}
		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {
			if !ok {
				next = raw
			}
			return v, plan, next, at, late
		}
		return moved, plan, 0, at, late
	}
}

// id names a slot and its incarnation.
func (w place) id() uint64 { return uint64(w.i)<<(64-incShift) | w.m.inc() }
