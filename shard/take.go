package shard

import (
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
	Elsewhere         // not decided: ask Take
	moved             // the slot lost its key meanwhile: nothing happened
	several           // the policy has not one limit in word 0
)

// Result explains a take. Its zero value is ready for use.
type Result struct {
	Plan  *bucket.Plan
	Limit int           // index of the limit that decided; the tightest when allowed; see [Result.Name]
	Word  uint64        // its word, after what was taken
	At    clock.Time    // when it was decided, on the key's axis
	Late  int64         // by how much that is later than the caller's time, ns
	Orig  bucket.Origin // of the key's axis
	Slot  uint64        // slot and incarnation, to recognize the key by
	First uint64        // word of the first limit, after what was taken
	Ahead int64         // see bucket.Charged; filled where Keep is set
	Done  int64         // likewise
	Keep  bool          // set by the caller: the take may be refunded
}

// Name returns the name of the limit that decided, "" if the policy has none.
func (r *Result) Name() string {
	switch {
	case r.Plan == nil:
		return ""
	case r.Plan.Deny:
		return r.Plan.DenyName
	}
	return r.Plan.Names[r.Limit]
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
			v, _, _, _, _ = t.takeOne(w, p, now, n)
			if v == several {
				var r Result
				v = t.takeAll(w, p, now, n, &r)
			}
		} else {
			_, v = t.insert(p, k, h, now, n, nil)
		}
		if v != moved {
			return v
		}
	}
}

// Take is Allow with an explanation. n == 0 looks without taking: it inserts
// nothing, and an unknown key is answered for as a full one.
func (t *Table) Take(p *Policy, k *Key, now clock.Time, n int64, r *Result) Verdict {
	for {
		w, h, ok := t.find(k)
		if !ok && n == 0 {
			w, ok = t.findPending(k)
		}
		var v Verdict
		switch {
		case ok:
			v = t.explain(w, p, now, n, r)
		case n == 0:
			return unheld(p.plan.Load(), now, 0, r)
		default:
			_, v = t.insert(p, k, h, now, n, r)
		}
		if v != moved {
			return v
		}
	}
}

// unheld answers for a key that is not in the table: its limits are all full.
func unheld(plan *bucket.Plan, now clock.Time, n int64, r *Result) Verdict {
	v := Allowed
	if r != nil {
		*r = Result{Plan: plan, At: now, Keep: r.Keep}
		r.tightest(func(l int) uint64 { return plan.Limits[l].Full(0, now) })
	}
	if plan.Deny {
		return TooCostly
	}
	for _, l := range plan.Active {
		if !plan.Limits[l].Fits(n) {
			v = TooCostly
			if r != nil {
				r.Limit = l
			}
			break
		}
	}
	return v
}

// explain takes at a place and fills r.
func (t *Table) explain(w place, p *Policy, now clock.Time, n int64, r *Result) Verdict {
	v, plan, word, at, late := t.takeOne(w, p, now, n)
	if v == several {
		return t.takeAll(w, p, now, n, r)
	}
	*r = Result{
		Plan: plan, Word: word, First: word, At: at, Late: late,
		Orig: bucket.OriginOf(w.m.inc()), Slot: w.id(), Keep: r.Keep,
	}
	if v == Allowed && r.Keep {
		r.Ahead = plan.Limits[0].AheadBefore(word, r.Orig, at, n)
	}
	return v
}

// takeOne takes n tokens from the only limit of the slot at w. It returns the
// plan it was taken under, the word after it, the time it was decided at, and by
// how much that is later than now.
//
// It linearizes at the compare-and-swap where it takes, else at the load of the
// word. The load counts only if meta shows w's incarnation after it: then the
// word was this key's. A swap that succeeds on it cannot have hit another key,
// whose axis has another origin; but the slot may have been given up in
// between, and then the take did not happen.
func (t *Table) takeOne(w place, p *Policy, now clock.Time, n int64) (v Verdict, plan *bucket.Plan, word uint64, at clock.Time, late int64) {
	s, o := w.s, bucket.OriginOf(w.m.inc())
	at = now
	if uint64(now)-uint64(s.seen.Load()) > grain {
		at, late = t.touch(w, p, now)
	}
	for {
		raw, plan := loadWord(&s.words[0], p)
		if !plan.Single {
			return several, plan, 0, at, late
		}
		if !s.load().same(w.m) {
			return moved, plan, 0, at, late
		}
		l, cur := &plan.Limits[0], raw
		if bucket.Parity(raw) != l.Parity() {
			cur = plan.Current(0, raw, o, at)
		}
		if !l.Fits(n) {
			return TooCostly, plan, cur, at, late
		}
		next, ok := l.Take(cur, o, at, n)
		switch {
		case !ok:
			v = Limited
		case n == 0:
			next = cur // a look changes nothing
		case !s.words[0].CompareAndSwap(raw, next):
			continue
		}
		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {
			if !ok {
				next = cur
			}
			return v, plan, next, at, late
		}
		return moved, plan, 0, at, late
	}
}

// id names a slot and its incarnation.
func (w place) id() uint64 { return uint64(w.i)<<(64-incShift) | w.m.inc() }
