package shard

import (
	"math/bits"
	"slices"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Watch has the table note which keys use tokens of budgets, from now on until it is
// called with false. It is to be called before a plan with budgets comes into force.
func (t *Table) Watch(on bool) {
	if on {
		t.dirty.Store(newDirty(t.slots))
	} else {
		t.dirty.Store(nil)
	}
}

// spent notes that tokens of budget l were taken from slot i, and left word.
func (t *Table) spent(i uint32, l *bucket.Limit, o bucket.Origin, word uint64) {
	d := t.dirty.Load()
	if d == nil {
		return
	}
	d.add(i)
	if l.Mode() == bucket.OnCredit && 2*l.Pending(word, o) >= l.Capacity() || l.Mode() == bucket.OnLease && l.LeaseLeft(word, o) <= 0 {
		d.kick()
	}
}

// wanted notes that budget k of w's key denied.
func (t *Table) wanted(w place, plan *bucket.Plan, k int) {
	l, d := &plan.Limits[k], t.dirty.Load()
	if d == nil || l.Mode() == bucket.Remote {
		return
	}
	if l.Mode() == bucket.OnLease {
		// One attempt is enough: if the word moves, somebody took.
		o, word := bucket.OriginOf(w.m.inc()), t.word(w.i, k)
		if raw := word.Load(); l.Reads(raw) && !l.Wanted(raw, o) && w.s.load().same(w.m) {
			word.CompareAndSwap(raw, l.Want(raw, o))
		}
	}
	d.add(w.i)
	d.kick()
}

// spentAll notes what an attempt charged.
func (t *Table) spentAll(w place, try *attempt) {
	if try.plan.Budgets == 0 {
		return
	}
	for _, k := range try.plan.Active {
		if l := try.limit[k]; try.plan.Budgets>>k&1 == 1 && try.cost[k] > 0 {
			t.spent(w.i, l, bucket.OriginOf(w.m.inc()), try.next[k])
		}
	}
}

// noteBudget notes what became of a take from the only limit, a budget.
func (t *Table) noteBudget(w place, plan *bucket.Plan, o bucket.Origin, next uint64, v Verdict, n int64) Verdict {
	switch {
	case v != Allowed:
		t.wanted(w, plan, 0)
		return Unsettled
	case n > 0:
		t.spent(w.i, &plan.Limits[0], o, next)
	}
	return v
}

// insertedBudgets notes what a new key took, or asked for in vain.
func (t *Table) insertedBudgets(w place, p *Policy, a *Ask) {
	plan := p.plan.Load()
	if plan.Budgets == 0 || !a.takes() {
		return
	}
	if d := t.dirty.Load(); d != nil {
		d.add(w.i)
		d.kick()
	}
}

// chargeBudgets charges the budgets that stand beside limit k.
func (h *Pin) chargeBudgets(plan *bucket.Plan, k int, at clock.Time, n int64) {
	for set := plan.Budgets; set != 0; set &= set - 1 {
		if b := bits.TrailingZeros32(set); plan.Bounded(b) == k {
			h.charge(b, at, n)
		}
	}
}

// returned takes n tokens that are to be given back to limit k off what is pending of
// the budget beside it, and returns how many it took: all n where there is no such
// budget, none of what somebody was told of. The limit is given back no more than that,
// or there would be tokens here that the common account does not have. A budget itself
// is given nothing back otherwise. The key is busy.
func (t *Table) returned(w place, p *Policy, plan *bucket.Plan, k int, n int64, marks *Marks) int64 {
	if plan.Budgets == 0 {
		return n
	}
	if plan.Budgets>>k&1 == 1 {
		return 0
	}
	for set := plan.Budgets; set != 0; set &= set - 1 {
		b := bits.TrailingZeros32(set)
		if plan.Bounded(b) != k {
			continue
		}
		if marks == nil || int64(marks[b].Cost) != n {
			return 0
		}
		return t.untold(w, p, b, marks[b])
	}
	return n
}

// untold takes the tokens of a charge off what is pending of budget b, if nobody can
// have been told of them, and returns how many it took.
func (t *Table) untold(w place, p *Policy, b int, m Mark) int64 {
	o, word := bucket.OriginOf(w.m.inc()), t.word(w.i, b)
	for {
		raw, plan := loadWord(word, p)
		if plan.Budgets>>b&1 == 0 || !w.s.load().same(w.m) {
			return 0
		}
		l, cur := t.read(w, plan, b, raw, 0)
		next, ok := l.Untold(cur, o, m.Used, int64(m.Cost))
		if !ok {
			return 0
		}
		if word.CompareAndSwap(raw, next) {
			return int64(m.Cost)
		}
	}
}

// marks puts those of the budgets that an attempt charged into all, which is the
// caller's so that nothing is allocated, and returns it; nil without any.
func (a *attempt) marks(w place, all *Marks) *Marks {
	if a.plan.Budgets == 0 {
		return nil
	}
	for set := a.plan.Budgets; set != 0; set &= set - 1 {
		b := bits.TrailingZeros32(set)
		all[b] = Mark{Used: a.plan.Limits[b].Total(a.next[b], bucket.OriginOf(w.m.inc())), Cost: saturate(a.cost[b])}
	}
	return all
}

// unchargeBudgets gives back what was taken from budgets before the limits that they
// stand beside were charged.
func (t *Table) unchargeBudgets(w place, p *Policy, try *attempt, done []int) {
	if try.plan.Budgets == 0 {
		return
	}
	var room Marks
	marks := try.marks(w, &room)
	for _, b := range done {
		if try.plan.Budgets>>b&1 == 1 && try.cost[b] > 0 && !slices.Contains(done, try.plan.Bounded(b)) {
			t.untold(w, p, b, marks[b])
		}
	}
}
