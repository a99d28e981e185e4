package linear

import "slices"

// limit is a token bucket in integers: q tokens come back in every c nanoseconds,
// q/c in lowest terms. Positions are time times q, so a token is c of them.
type limit struct{ q, c, burst int64 }

func (l limit) room() int64 { return l.burst * l.c }

// token is how long one token takes to come back, ns, rounded down.
func (l limit) token() int64 { return l.c / l.q }

// spec is the sequential specification of one key with one limit.
//
// A call is decided at one time. It is no earlier than the caller's own, and than
// that of any take that had returned before the call began (lo), less lag; and no
// later than what the clock showed when the call returned (hi). Which time it is
// depends on who of several callers at once came first, and on evictions nearby, so
// the specification leaves it open.
//
// An eviction is none of its transitions. A full key loses nothing by it.
//
// Changes of the policy, venues' counts and takes by several keys are specified for
// times at which the clock stands still, and every call brings the clock's time.
type spec struct {
	limit limit
	plans []limit // what Apply brings in its place, by number; nil: it stays
	lossy bool    // a take by several keys may lose what it gives back
	tick  int64   // every time is a whole number of them after another
	grain int64   // how far a key's newest time may lag behind its takers
	lag   int64   // how much of that shows: grain if tick is smaller, else 0
}

// state is the bucket, and what later refunds need. Two states that no later
// answer can tell apart should be equal: the search follows every one there is.
type state struct {
	full   int64     // position at which it is full again
	newest int64     // latest time of a take that is in it
	gave   bool      // something was ever given back
	gifts  []gift    // that a take under way may not know, the latest last
	kept   []receipt // of the takes that are given back later
	rest
}

// rest is what few histories need.
type rest struct {
	ban int64 // until when the key is banned

	plan     int // in force
	next     int // published, plus one; 0 when nothing is to be converted
	applying int // the Apply that is under way, plus one

	corrected int64 // tokens, in sum, that are not admissions or charges
	syncedAt  int64 // the newest admission whose count was used,
	synced    int64 // and its mark
}

// at returns the limit in force.
func (m *spec) at(plan int) limit {
	if m.plans == nil {
		return m.limit
	}
	return m.plans[plan]
}

// gift is a refund that took place.
type gift struct {
	by *op
	ns int64
}

// receipt is what a take remembers for its refund.
type receipt struct {
	op    int
	at    int64   // when it was charged
	ahead int64   // ns of refill that the bucket lacked before it, rounded down
	first int64   // full, after it
	since []int64 // what may count as given back since, ns; nil for a plain take
	mark  int64   // tokens used after it, less those corrected before
	other bool    // the rate has changed since
	blind bool    // the take met a gift, so it may not know what was used
}

func (s state) equal(t state) bool {
	return s.full == t.full && s.newest == t.newest && s.gave == t.gave && s.rest == t.rest && slices.Equal(s.gifts, t.gifts) &&
		slices.EqualFunc(s.kept, t.kept, func(a, b receipt) bool {
			return a.op == b.op && a.at == b.at && a.ahead == b.ahead && a.first == b.first && a.mark == b.mark && a.other == b.other && a.blind == b.blind && slices.Equal(a.since, b.since)
		})
}

func (s state) hash() uint64 {
	return (uint64(s.full)*0x9E3779B97F4A7C15+uint64(s.newest))*0x9E3779B97F4A7C15 + uint64(len(s.kept))
}

// count adds ns to what was given back since r. More than ahead is as good as
// ahead, but nothing is not.
func (r receipt) count(ns int64) receipt {
	if r.since == nil {
		return r
	}
	since := make([]int64, len(r.since))
	for i, was := range r.since {
		since[i] = min(was+ns, max(r.ahead, 1))
	}
	r.since = slices.Compact(since)
	return r
}

// step returns the states that o may leave behind, none if o's answer cannot be
// given in s.
func (m *spec) step(s state, o *op) []state {
	// Every take that may not know a gift has taken place by now.
	s.gifts = slices.DeleteFunc(slices.Clone(s.gifts), func(g gift) bool { return g.by.heard < o.call })
	switch o.kind {
	case refund:
		return m.refund(s, o)
	case charge:
		return m.charge(s, o)
	case credit:
		return m.credit(s, o)
	case ban:
		s.ban = max(s.ban, o.until)
		return []state{s}
	case venue:
		return m.venue(s, o)
	case publish:
		return m.publish(s, o)
	case convert:
		return m.converted(s, o)
	case ghost:
		return m.lost(s, o, []state{s})
	case returns:
		return m.returned(s, o)
	}
	if s.next == 0 {
		return m.take(s, o)
	}
	// Between the two a call may have the limits of before, or the new ones; what
	// takes by the new ones converts, what only looks leaves things as they are.
	next := m.take(s, o)
	for _, t := range m.take(m.change(s, o.hi), o) {
		if !o.got.allowed || o.n == 0 {
			t = s
		}
		next = add(next, t)
	}
	return next
}

// add adds a state, once.
func add(all []state, s state) []state {
	if slices.ContainsFunc(all, s.equal) {
		return all
	}
	return append(all, s)
}

// times are the times at which a call may be decided that is no older than from.
func (m *spec) times(from int64, o *op) (all []int64) {
	for at := from; at <= o.hi; at += m.tick {
		if at >= o.lo-m.lag {
			all = append(all, at)
		}
	}
	return all
}

// take: what is used counts from the time of the decision. A denial and a look
// (n = 0) change nothing.
func (m *spec) take(s state, o *op) (next []state) {
	if o.got.bar == blocked || o.blocked == yes && !o.urgent {
		if o.got == (answer{bar: blocked}) && o.blocked != no && !o.urgent {
			next = append(next, s)
		}
		return next
	}
	l := m.at(s.plan)
	for _, at := range m.times(o.now, o) {
		if at < s.ban {
			if o.got == (answer{bar: banned, retry: s.ban - o.now}) {
				next = add(next, s)
			}
			continue
		}
		used := max(0, s.full-at*l.q)
		if !slices.ContainsFunc(o.extras, func(n int64) bool { return o.fits(l.answer(used+n*l.c, o, at)) }) {
			continue
		}
		t := s
		if o.got.allowed && o.n > 0 {
			t.newest = max(s.newest, at)
			t.full = at*l.q + used + o.n*l.c
			if o.refunded {
				r := receipt{op: o.id, at: at, first: t.full, mark: (used+o.n*l.c)/l.c - s.corrected, blind: len(o.during) > 0}
				if !o.plain {
					r.ahead = used / l.q
					r.since = s.unknown(o)
				}
				t.kept = append(slices.Clone(s.kept), r.count(0))
			}
		}
		next = add(next, t)
		if s.ban > 0 {
			t.ban = 0 // it is over, also for a call whose time was read before
			next = add(next, t)
		}
	}
	return m.lost(s, o, next)
}

// answer is what o is told at a time when so much is used.
func (l limit) answer(used int64, o *op, at int64) (a answer) {
	after := used + o.n*l.c
	if a.allowed = after <= l.room(); !a.allowed {
		after = used
		a.retry = later(ceil(used+o.n*l.c-l.room(), l.q), at-o.now)
	}
	a.remaining = max(0, l.room()-after) / l.c
	a.reset = later(ceil(after, l.q), at-o.now)
	return a
}

// unknown is what may count as given back since a take that was given back before
// it: nothing, or the latest gifts, as far as they were under way at the same time.
func (s state) unknown(o *op) []int64 {
	sums := []int64{0}
	for i := len(s.gifts) - 1; i >= 0 && slices.Contains(o.during, s.gifts[i].by.id); i-- {
		sums = append(sums, sums[len(sums)-1]+s.gifts[i].ns)
	}
	return sums
}

// later is a wait as a caller who is late sees it.
func later(wait, late int64) int64 {
	if wait == 0 {
		return 0
	}
	return wait + late
}

// ceil is ceil(a/b) for a ≥ 0.
func ceil(a, b int64) int64 { return (a + b - 1) / b }
