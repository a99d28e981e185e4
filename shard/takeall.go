package shard

import (
	"math"
	"runtime"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// attempt is one attempt to take from every limit of a policy.
type attempt struct {
	plan   *bucket.Plan
	at     clock.Time
	late   int64 // by how much at is later than the caller's own time, ns
	urgent bool
	takes  bool                            // asks for anything; else it only looks
	tells  bool                            // is to be explained
	raw    [bucket.MaxLimits]uint64        // as loaded
	next   [bucket.MaxLimits]uint64        // after the take
	cost   [bucket.MaxLimits]int64         // tokens
	limit  [bucket.MaxLimits]*bucket.Limit // that decides: the one in force, or until the change comes, before
	left   [bucket.MaxLimits]int32         // of a rolling limit, tokens left before the take, and
	spent  [bucket.MaxLimits]int32         // used before it; where it is to be explained
}

// word is the word k that the attempt left in the slot.
func (a *attempt) word(k int) uint64 {
	if a.cost[k] == 0 {
		return a.raw[k]
	}
	return a.next[k]
}

// takeAll takes what a asks for from every limit of the slot at w, or from none.
// r explains it; nil where nobody asks.
//
// It looks at all limits before it charges any, so a denial usually writes
// nothing. Only when another taker comes in between, a limit that was looked at
// can fail to be charged; then the ones already charged are given back. Between
// the two, others may see less than there is, never more.
func (t *Table) takeAll(w place, p *Policy, now clock.Time, a *Ask, r *Result) Verdict {
	at, late := now, int64(0)
	if uint64(now)-uint64(w.s.seen.Load()) > grain {
		at, late = t.touch(w, p, now)
	}
	if r != nil {
		*r = Result{At: at, Late: late, Slot: w.id(), Keep: r.Keep}
	}
	try := attempt{at: at, late: late, urgent: a.Urgent}
	for {
		v := t.look(w, p, a, &try, r)
		switch {
		case v == again:
			continue
		case v == Allowed && !t.charge(w, p, &try):
			continue
		case v == moved || !w.s.settle(w.m):
			return moved
		case v == Banned && r != nil:
			r.Retry = t.cold(w.i).bannedFor(at - clock.Time(late))
		case v == Allowed && r != nil:
			t.tell(w, &try, r)
		}
		if v == Allowed {
			t.spentAll(w, &try)
		}
		runtime.KeepAlive(try.plan)
		return v
	}
}

// again is the verdict of a look that found the words moving.
const again = several

// look computes what the take would make of every word, and which limit denies
// longest. It writes nothing.
func (t *Table) look(w place, p *Policy, a *Ask, try *attempt, r *Result) Verdict {
	plan := p.plan.Load()
	for _, k := range plan.Active {
		try.raw[k] = t.word(w.i, k).Load()
	}
	// The words are read by a plan that was in force before and after they were
	// loaded; and they are this key's.
	if p.plan.Load() != plan {
		return again
	}
	m := w.s.load()
	if !m.same(w.m) {
		return moved
	}
	try.plan = plan
	if r != nil {
		r.Plan, r.Retry = plan, 0
	}
	if m.barred() {
		if v := t.bars(w, try.at, try.late, a.Urgent); v != Allowed {
			return v
		}
	}
	if v := admit(plan, a); v != Allowed || a.Leave {
		return v
	}
	try.takes, try.tells = a.takes(), r != nil
	v, short := Allowed, false
	for _, k := range plan.Active {
		l, cur := t.read(w, plan, k, try.raw[k], try.at)
		n := a.of(plan, k)
		try.limit[k], try.cost[k] = l, n
		var c bucket.Cell
		t.locate(&c, w, k, l, try.raw[k])
		if n > l.Most(a.Urgent) {
			if r != nil {
				r.Limit = k
				r.of(l, cur, &c, a.Urgent)
			}
			return TooCostly
		}
		if n == 0 && try.takes {
			continue
		}
		next, got := l.Try(cur, &c, try.at, n, a.Urgent)
		switch got {
		case bucket.Fits:
			try.next[k] = next
			try.before(k, l, cur, &c)
		case bucket.Stale:
			return again
		default:
			if v = Limited; l.Kind() == bucket.Budget {
				v = Unsettled
				t.wanted(w, plan, k)
			}
			if r == nil {
				return v
			}
			short = true
		}
	}
	if short {
		v = t.longest(w, try, r)
	}
	return v
}

// longest explains a denial: by when all limits admit it, and by the one that makes
// it so late. A limit that is ready first may not be any more when another is, so
// they are asked again as of then. When a budget is settled, nobody can tell: it counts
// for as long as its hint says.
func (t *Table) longest(w place, try *attempt, r *Result) Verdict {
	for more := true; more; {
		more = false
		for _, k := range try.plan.Active {
			if try.cost[k] == 0 && try.takes {
				continue
			}
			l, cur := t.read(w, try.plan, k, try.raw[k], try.at)
			c := t.state(w, k, l, try.raw[k])
			then, as := try.at+clock.Time(r.Retry), cur
			if l.Kind() == bucket.Budget {
				if d := l.Wait(cur, &c, try.at, try.cost[k], try.urgent); d > r.Retry {
					r.Retry, r.Limit, more = d, k, true
					r.of(l, cur, &c, try.urgent)
				}
				continue
			}
			if !bucket.SameEra(try.at, then) {
				as = l.Renew(cur, &c, try.at, then) // as it would be read then
			}
			if d := l.Wait(as, &c, then, try.cost[k], try.urgent); d > 0 {
				r.Retry, r.Limit, more = r.Retry+d, k, true
				r.of(l, cur, &c, try.urgent)
			}
		}
	}
	return r.short()
}

// short is the verdict where the limit that r names has too little.
func (r *Result) short() Verdict {
	if r.Plan != nil && r.Plan.Budgets>>r.Limit&1 == 1 {
		return Unsettled
	}
	return Limited
}

// before notes what is there of a rolling limit before the take: afterwards its ring
// need not be as this take left it.
func (a *attempt) before(k int, l *bucket.Limit, cur uint64, c *bucket.Cell) {
	if a.tells && l.Kind() == bucket.Rolling {
		a.left[k], a.spent[k] = int32(l.Left(cur, c, a.at, a.urgent)), int32(l.Spent(cur, c, a.at))
	}
}

// after returns the tokens left and used of limit k after the take.
func (a *attempt) after(k int, l *bucket.Limit, cur uint64, c *bucket.Cell) (left, used int64) {
	if l.Kind() == bucket.Rolling && a.cost[k] > 0 {
		return int64(a.left[k]) - a.cost[k], int64(a.spent[k]) + a.cost[k]
	}
	return l.Left(cur, c, a.at, a.urgent), l.SpentWhole(cur, c, a.at)
}

// charge swaps in every word. It reports false, with everything given back, when a
// word moved so that its limit no longer fits, or the plan changed.
func (t *Table) charge(w place, p *Policy, try *attempt) bool {
	for j, k := range try.plan.Order {
		word, n := t.word(w.i, k), try.cost[k]
		for n > 0 && !word.CompareAndSwap(try.raw[k], try.next[k]) {
			if !t.lookAgain(w, p, try, k) {
				t.uncharge(w, p, try, try.plan.Order[:j])
				return false
			}
		}
	}
	return true
}

// lookAgain computes anew what the take would make of word k, which moved.
func (t *Table) lookAgain(w place, p *Policy, try *attempt, k int) bool {
	for {
		try.raw[k] = t.word(w.i, k).Load()
		if p.plan.Load() != try.plan || !w.s.load().same(w.m) {
			return false
		}
		l, cur := t.read(w, try.plan, k, try.raw[k], try.at)
		c := t.state(w, k, l, try.raw[k])
		next, got := l.Try(cur, &c, try.at, try.cost[k], try.urgent)
		if got == bucket.Stale {
			continue
		}
		try.limit[k], try.next[k] = l, next
		try.before(k, l, cur, &c)
		return got == bucket.Fits
	}
}

// uncharge gives back what an attempt took from the limits done: what time has not
// refilled meanwhile (bucket.GiveBack), reckoned from the charge itself, which
// needs no knowledge of other gifts.
func (t *Table) uncharge(w place, p *Policy, try *attempt, done []int) {
	if len(done) == 0 {
		return
	}
	// Pinned, so that the slot is not another key's when the gift comes to its ring.
	if ok, full := w.pin(pinMask); !ok {
		if full {
			t.stats.kept.Add(1)
		}
		return
	}
	defer w.unpin()
	g := &t.cold(w.i).gifts
	given, ok := g.begin(rollbackTries)
	if !ok {
		t.stats.kept.Add(1)
		return
	}
	var room Marks
	most, marks := int64(0), try.marks(w, &room)
	for _, k := range done {
		if n := try.cost[k]; n > 0 {
			most = max(most, t.giveBack(w, p, k, try.plan, gift{n: n, charged: bucket.Charged{At: try.at}, alone: true, marks: marks}, t.clock))
		}
	}
	t.unchargeBudgets(w, p, try, done)
	g.end(given, most)
	t.mayBeFull(w.i, try.at)
}

// of fills in what limit l says.
func (r *Result) of(l *bucket.Limit, cur uint64, c *bucket.Cell, urgent bool) {
	r.Remaining = l.Left(cur, c, r.At, urgent)
	r.Reset = l.Reset(cur, c, r.At)
	r.Window = l.Window(cur, c.Origin, r.At)
}

// tell fills in what a take that was allowed left: the limit with the fewest
// tokens, and what giving them back needs.
func (t *Table) tell(w place, try *attempt, r *Result) {
	plan, o := try.plan, bucket.OriginOf(w.m.inc())
	least, found := int64(math.MaxInt64), false
	r.Ahead = math.MaxInt64
	for i, k := range plan.Active {
		l, cur := try.limit[k], try.next[k]
		if try.cost[k] == 0 {
			l, cur = t.read(w, plan, k, try.raw[k], r.At)
		}
		c := t.state(w, k, l, try.word(k))
		if i == 0 {
			r.First = cur
		}
		left, used := try.after(k, l, cur, &c)
		if (try.cost[k] > 0 || !try.takes) && (!found || left < least) && !plan.Beside(k) {
			least, r.Limit, found = left, k, true
			r.of(l, cur, &c, try.urgent)
			r.Remaining = left
		}
		if !r.Keep {
			r.Ahead = 0 // not known: the least
			continue
		}
		if l.Kind() == bucket.TokenBucket && try.cost[k] > 0 {
			r.Ahead = min(r.Ahead, l.AheadBefore(cur, o, r.At, try.cost[k]))
		}
		r.Marks[k] = Mark{
			Used: uint32(used) - t.cold(w.i).corrected[k].Load(),
			Cost: saturate(try.cost[k]),
		}
	}
}
