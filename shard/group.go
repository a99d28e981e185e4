package shard

import (
	"errors"
	"runtime"
	"sort"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// MaxJoin is the most pins of a group.
const MaxJoin = 8

// Errors of [Join].
var (
	ErrJoinCount = errors.New("a group takes 1 to 8 handles")
	ErrJoinTwice = errors.New("a key is in the group twice: its limits would be charged twice")
	ErrJoinTable = errors.New("the handles are of different gates")
)

// Group is a few pinned keys that are charged together or not at all.
//
// Every take of every group charges its keys in the order of their slots. So of the
// takes that hold something and want more, the one that holds the last word waits for
// none: it succeeds, or finds a limit used up by takes that succeeded. They cannot
// all fail for each other's sake, whatever orders the groups were joined in.
type Group struct {
	pins []Pin // by slot
	at   []int // the caller's number of each
	t    *Table
}

// Join makes a group.
func Join(pins []Pin) (*Group, error) {
	if len(pins) < 1 || len(pins) > MaxJoin {
		return nil, ErrJoinCount
	}
	g := &Group{t: pins[0].t}
	for i := range pins {
		g.at = append(g.at, i)
	}
	sort.Slice(g.at, func(i, j int) bool { return pins[g.at[i]].w.i < pins[g.at[j]].w.i })
	for i, k := range g.at {
		switch {
		case pins[k].t != g.t:
			return nil, ErrJoinTable
		case i > 0 && pins[k].w.i == g.pins[i-1].w.i:
			return nil, ErrJoinTwice
		}
		g.pins = append(g.pins, pins[k])
	}
	return g, nil
}

// GroupAsk is what a take asks of a group.
type GroupAsk struct {
	N      int64   // tokens of every limit of every key
	Each   []int64 // tokens by the caller's number of the key, instead of N; 0 leaves it out
	Urgent bool
}

func (a *GroupAsk) of(i int) int64 {
	if a.Each != nil {
		return a.Each[i]
	}
	return a.N
}

// Allow takes n tokens from every key of the group, or from none.
func (g *Group) Allow(now clock.Time, n int64) Verdict {
	v := g.takeUsual(now, n)
	if v == several {
		v, _ = g.take(now, &GroupAsk{N: n}, nil)
	}
	return gone(v)
}

// Take is Allow with an explanation. which is the caller's number of the key whose
// limit decided. r.Marks are those of the limits of all keys in the caller's order,
// as many as there are.
func (g *Group) Take(now clock.Time, a *GroupAsk, r *Result) (v Verdict, which int) {
	r.Keep = true
	v, which = g.take(now, a, r)
	return gone(v), which
}

// takeUsual is Allow where every key has one token bucket.
func (g *Group) takeUsual(now clock.Time, n int64) Verdict {
	var raw, next [MaxJoin]uint64
	var plans [MaxJoin]*bucket.Plan
	var ats [MaxJoin]clock.Time
	pins := g.pins
	if len(pins) > MaxJoin {
		return several // never; it tells the compiler the bounds
	}
	for i := range pins {
		h := &pins[i]
		ats[i] = now
		if uint64(now)-uint64(h.w.s.seen.Load()) > grain {
			ats[i], _ = g.t.touch(h.w, h.p, now)
		}
	}
again:
	for i := range pins {
		h := &pins[i]
		var plan *bucket.Plan
		raw[i], plan = loadWord(&h.w.s.words[0], h.p)
		l := &plan.Limits[0]
		if !plan.Single || !l.Reads(raw[i]) || !h.w.s.load().open(h.w.m) {
			return several
		}
		if !l.Fits(n) {
			return TooCostly
		}
		var ok bool
		if next[i], ok = l.Take(raw[i], bucket.OriginOf(h.w.m.inc()), ats[i], n); !ok {
			if h.w.s.words[0].Load() != raw[i] {
				goto again // two changes may lie between the word and the plan
			}
			return Limited // a pinned slot is not closed: nothing to settle
		}
		plans[i] = plan
	}
	for i := range pins {
		h := &pins[i]
		if h.w.s.words[0].CompareAndSwap(raw[i], next[i]) {
			continue
		}
		if i == 0 {
			goto again
		}
		try := attempt{plan: plans[i], at: ats[i]}
		try.cost[0] = n
		charged := false
		for !charged && g.t.lookAgain(h.w, h.p, &try, 0) {
			charged = h.w.s.words[0].CompareAndSwap(try.raw[0], try.next[0])
		}
		if !charged {
			g.unchargeUsual(plans[:i], ats[:i], n)
			goto again
		}
	}
	for i := range pins {
		if pins[i].w.s.load().same(pins[i].w.m) {
			continue
		}
		g.unchargeUsual(plans[:len(pins)], ats[:len(pins)], n)
		return moved // released meanwhile
	}
	return Allowed
}

// unchargeUsual gives back what takeUsual charged to the first keys.
func (g *Group) unchargeUsual(plans []*bucket.Plan, ats []clock.Time, n int64) {
	for i, plan := range plans {
		try := attempt{plan: plan, at: ats[i]}
		try.cost[0] = n
		g.t.uncharge(g.pins[i].w, g.pins[i].p, &try, plan.Active)
	}
}

// take takes from all keys or from none.
func (g *Group) take(now clock.Time, a *GroupAsk, r *Result) (v Verdict, which int) {
	// Room for session, account and firm: clearing that for eight costs as much as
	// deciding.
	if n := len(g.pins); n <= 3 {
		var tries [3]attempt
		return g.takeIn(tries[:n], now, a, r)
	}
	return g.takeMany(now, a, r)
}

//go:noinline
func (g *Group) takeMany(now clock.Time, a *GroupAsk, r *Result) (v Verdict, which int) {
	var tries [MaxJoin]attempt
	return g.takeIn(tries[:len(g.pins)], now, a, r)
}

// takeIn is take with room for it. It looks at all limits of all keys first, then
// charges them key by key.
func (g *Group) takeIn(tries []attempt, now clock.Time, a *GroupAsk, r *Result) (v Verdict, which int) {
	t := g.t
	var gifts [MaxJoin]uint64 // before any word is read, for what is told of them
	for i := range g.pins {
		h := &g.pins[i]
		gifts[i] = t.cold(h.w.i).gifts.w.Load()
		at, late := now, int64(0)
		if uint64(now)-uint64(h.w.s.seen.Load()) > grain {
			at, late = t.touch(h.w, h.p, now)
		}
		tries[i].at, tries[i].late, tries[i].urgent = at, late, a.Urgent
	}
	for {
		v, which = g.look(a, tries, r)
		switch {
		case v == again:
			continue
		case v != Allowed || !g.takes(a):
		case !g.charge(tries):
			continue
		default:
			for i := range g.pins {
				if g.pins[i].w.s.load().same(g.pins[i].w.m) {
					continue
				}
				g.uncharge(tries)
				return moved, 0
			}
		}
		if v == Allowed && r != nil {
			which = g.tell(a, tries, r)
			r.Known = g.quiet(&gifts)
		}
		for i := range g.pins {
			runtime.KeepAlive(tries[i].plan)
		}
		return v, which
	}
}

func (g *Group) takes(a *GroupAsk) bool {
	for i := range g.pins {
		if a.of(i) > 0 {
			return true
		}
	}
	return false
}

// look looks at every key. Of those that deny, the one that does so longest decides.
func (g *Group) look(a *GroupAsk, tries []attempt, r *Result) (v Verdict, which int) {
	v = Allowed
	takes := g.takes(a)
	for i := range g.pins {
		h, ask := &g.pins[i], Ask{N: a.of(g.at[i]), Urgent: a.Urgent}
		ask.Leave = takes && ask.N == 0
		var own Result
		mine := &own
		if r == nil {
			mine = nil
		} else {
			own = Result{At: tries[i].at, Late: tries[i].late, Slot: h.w.id()}
		}
		got := g.t.look(h.w, h.p, &ask, &tries[i], mine)
		switch {
		case got == Allowed:
			continue
		case (got == Limited || got == Unsettled) && r != nil:
			v = Limited
			continue
		case got == Banned && r != nil:
			own.Retry = g.t.cold(h.w.i).bannedFor(own.At - clock.Time(own.Late))
		}
		if r != nil {
			own.Keep = r.Keep
			*r = own
		}
		return got, g.at[i]
	}
	if v == Limited {
		which = g.longest(a, tries, r)
		v = r.short()
	}
	return v, which
}

// longest explains a denial, as [Table.longest] does for one key: by when all limits
// of all keys admit it, from the caller's time on.
func (g *Group) longest(a *GroupAsk, tries []attempt, r *Result) (which int) {
	wait := int64(0)
	*r = Result{Keep: r.Keep}
	for more := true; more; {
		more = false
		for i := range g.pins {
			if a.of(g.at[i]) == 0 && g.takes(a) {
				continue
			}
			own := Result{Plan: tries[i].plan, At: tries[i].at, Retry: max(0, wait-tries[i].late)}
			from := own.Retry
			g.t.longest(g.pins[i].w, &tries[i], &own)
			if own.Retry > from {
				wait, more, which = tries[i].late+own.Retry, true, g.at[i]
				own.Plan, own.Slot, own.Keep = tries[i].plan, g.pins[i].w.id(), r.Keep
				if own.Reset > 0 {
					own.Reset += tries[i].late
				}
				*r = own
			}
		}
	}
	r.Retry = wait
	return which
}

// charge charges every key. It reports false, with everything given back, where one
// does not fit any more.
func (g *Group) charge(tries []attempt) bool {
	for i := range g.pins {
		if g.t.charge(g.pins[i].w, g.pins[i].p, &tries[i]) {
			continue
		}
		g.uncharge(tries[:i])
		return false
	}
	for i := range g.pins {
		g.t.spentAll(g.pins[i].w, &tries[i])
	}
	return true
}

// uncharge gives back what was charged to the first keys.
func (g *Group) uncharge(tries []attempt) {
	for i := range tries {
		g.t.uncharge(g.pins[i].w, g.pins[i].p, &tries[i], tries[i].plan.Active)
	}
}

// tell explains what was taken: by the tightest limit of all keys.
func (g *Group) tell(a *GroupAsk, tries []attempt, r *Result) (which int) {
	var tight Result
	var all Marks
	marked, takes := 0, g.takes(a)
	earliest := tries[0].at
	for number := range g.pins { // the caller's order, for the marks
		i := g.slot(number)
		h := &g.pins[i]
		own := Result{Plan: tries[i].plan, At: tries[i].at, Late: tries[i].late, Slot: h.w.id(), Keep: true}
		g.t.tell(h.w, &tries[i], &own)
		if a.of(number) > 0 {
			seq := g.t.countSeq(h.w)
			if number == 0 {
				tight.Seq = seq
			}
			g.t.see(h.w, h.p, tries[i].at)
		}
		for _, k := range tries[i].plan.Active {
			if marked < len(all) {
				all[marked] = own.Marks[k]
				marked++
			}
		}
		earliest = min(earliest, tries[i].at)
		if left := takes && a.of(number) == 0; !left && len(tries[i].plan.Active) > 0 && (tight.Plan == nil || own.Remaining < tight.Remaining) {
			own.Seq = tight.Seq
			tight, which = own, number
		}
	}
	*r = tight
	r.Marks, r.Keep = all, true
	if r.Plan == nil {
		r.Plan = tries[0].plan
	}
	// What is given back later is reckoned from the earliest of their times.
	r.At = earliest
	return which
}

// quiet reports whether nothing was given back or corrected since the gifts were read.
func (g *Group) quiet(before *[MaxJoin]uint64) bool {
	for i := range g.pins {
		if w := g.t.cold(g.pins[i].w.i).gifts.w.Load(); w != before[i] || w&busy != 0 {
			return false
		}
	}
	return true
}

// slot returns which of the pins the caller's number names.
func (g *Group) slot(number int) int {
	for i, n := range g.at {
		if n == number {
			return i
		}
	}
	return 0
}
