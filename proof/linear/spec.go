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
type spec struct {
	limit limit
	tick  int64 // every time is a whole number of them after another
	grain int64 // how far a key's newest time may lag behind its takers
	lag   int64 // how much of that shows: grain if tick is smaller, else 0
}

// state is the bucket, and what later refunds need. Two states that no later
// answer can tell apart should be equal: the search follows every one there is.
type state struct {
	full   int64     // position at which it is full again
	newest int64     // latest time of a take that is in it
	gave   bool      // something was ever given back
	gifts  []gift    // that a take under way may not know, the latest last
	kept   []receipt // of the takes that are given back later
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
}

func (s state) equal(t state) bool {
	return s.full == t.full && s.newest == t.newest && s.gave == t.gave && slices.Equal(s.gifts, t.gifts) &&
		slices.EqualFunc(s.kept, t.kept, func(a, b receipt) bool {
			return a.op == b.op && a.at == b.at && a.ahead == b.ahead && a.first == b.first && slices.Equal(a.since, b.since)
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
	s.gifts = slices.DeleteFunc(slices.Clone(s.gifts), func(g gift) bool { return g.by.until < o.call })
	if o.kind == refund {
		return m.refund(s, o)
	}
	return m.take(s, o)
}

// take: what is used counts from the time of the decision. A denial and a look
// (n = 0) change nothing.
func (m *spec) take(s state, o *op) (next []state) {
	l := m.limit
	for at := o.now; at <= o.hi; at += m.tick {
		if at < o.lo-m.lag {
			continue
		}
		used := max(0, s.full-at*l.q)
		after := used + o.n*l.c
		got := answer{allowed: after <= l.room()}
		level := after
		if !got.allowed {
			level = used
			got.retry = later(ceil(after-l.room(), l.q), at-o.now)
		}
		got.remaining = max(0, l.room()-level) / l.c
		got.reset = later(ceil(level, l.q), at-o.now)
		if got != o.got {
			continue
		}
		t := s
		if got.allowed && o.n > 0 {
			t.newest = max(s.newest, at)
			t.full = at*l.q + after
			if o.refunded {
				r := receipt{op: o.id, at: at, first: t.full}
				if !o.plain {
					r.ahead = used / l.q
					r.since = s.unknown(o)
				}
				t.kept = append(slices.Clone(s.kept), r.count(0))
			}
		}
		if !slices.ContainsFunc(next, t.equal) {
			next = append(next, t)
		}
	}
	return next
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

// refund gives back x − max(0, P2 − max(P1, B − R)) of a charge x at P1 on base B,
// where R was given since and no take in the bucket is later than P2; all of it if
// nobody took or gave since. It has no answer.
//
// P2 is the clock, but within grain of the newest time that the key knows, as they
// were after the last take, not as they are: a denial since then may have brought a
// newer time, and left nothing in the bucket that could be minted. A refund that
// meets another may give nothing.
func (m *spec) refund(s state, o *op) (next []state) {
	i := slices.IndexFunc(s.kept, func(r receipt) bool { return r.op == o.of })
	if i < 0 {
		return nil // after its take only
	}
	l, r := m.limit, s.kept[i]
	s.kept = slices.Delete(slices.Clone(s.kept), i, i+1)
	give := func(units, floor int64) {
		t, ns := s, ceil(units, l.q)
		t.full -= min(units, max(0, s.full-floor*l.q))
		if ns > 0 {
			t.gave = true
			if o.until > 0 {
				t.gifts = append(slices.Clone(s.gifts), gift{o, ns})
			}
			t.kept = slices.Clone(s.kept)
			for i, r := range t.kept {
				t.kept[i] = r.count(ns)
			}
		}
		if !slices.ContainsFunc(next, t.equal) {
			next = append(next, t)
		}
	}
	if len(o.during) > 0 {
		next = append(next, s)
	}
	x := o.n * l.c
	if r.since == nil {
		// The gate's decisions remember nothing of the bucket before them.
		r.since = []int64{0}
		if s.gave {
			r.since[0] = 1
		}
	}
	for _, since := range r.since {
		if since == 0 && s.full == r.first {
			give(x, r.at)
			continue
		}
		for seen := o.hi; seen >= max(s.newest, o.lo)-m.lag; seen -= m.tick {
			for now := max(seen, o.begun); now <= o.hi; now += m.tick {
				p2 := max(min(now, seen+m.grain), r.at)
				gone := max(0, p2-r.at-max(0, r.ahead-since))
				give(max(0, x-gone*l.q), p2)
			}
		}
	}
	return next
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
