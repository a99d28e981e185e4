package shard

import (
	"runtime"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// insert brings k into the table with what a asks for already taken. h is the header
// under which k was not found. It returns moved when it finds that k is there: the
// caller looks it up again.
//
// The key is written to a slot of the inserter's own first. It becomes visible
// through the header of its home group: the swap of the header succeeds only if
// no other key of the group was published since the group was searched, so of
// two inserts of one key the second fails, searches again and finds it. That
// swap is where the insert, and the take with it, linearizes.
func (t *Table) insert(p *Policy, k *Key, h header, now clock.Time, a *Ask, r *Result) (place, Verdict) {
	// A request that can never pass, or always does, brings no key into the table.
	takes, asks := a.takes(), a
	if plan := p.plan.Load(); takes {
		v := t.barredName(k, a)
		if v == Allowed {
			v = unheld(plan, now, a, r)
		}
		if v != Allowed || len(plan.Active) == 0 {
			return place{}, v
		}
		if plan.Leased() {
			a, r = &Ask{Urgent: a.Urgent}, nil // there is nothing to take yet, but it is to be known that it is wanted
		}
	}
	g := t.group(k.hash)
	var own place
	var at clock.Time
	var used int64
	for wait, searched := 0, h.pending() == 0; ; searched = false {
		if !searched {
			h = t.help(&g, loadHeader(g.header))
			if w, ok := t.search(&g, h, k); ok {
				if own.s != nil {
					t.abandon(own)
				}
				return w, moved
			}
		}
		if searched && t.keys.Load() >= t.maxKeys {
			continue // look again before anything is evicted
		}
		room := t.room()
		if room == promised {
			// The last room is taken by an insert that is under way, perhaps of this
			// very key: look again before a key is refused, or dropped, for nothing.
			if wait++; wait < patience {
				if wait > spins {
					runtime.Gosched()
				}
				continue
			}
		}
		if room != someRoom {
			// Before a key is refused, or another one dropped: the last room may have gone
			// to this very key since it was searched. Then its header changed before
			// room counted it.
			if room == noRoom && loadHeader(g.header) != h || !t.reject && t.evict(now) {
				continue
			}
			return t.refuse(own)
		}
		claimed := own.s != nil
		if !claimed {
			var ok bool
			if own, ok = t.claim(&g, now); !ok {
				return t.refuse(place{})
			}
			t.write(own.i, own.s, k)
		}
		// The floor is loaded after the search: if the key was evicted just before it,
		// the floor shows when.
		if floor := max(now, t.floorOf(own.i)); !claimed || floor > at {
			var ok bool
			at = floor
			// The plan is loaded after the claim: a change of the policy that is
			// published later waits for private slots (Change), as one that blocks does.
			used, ok = t.open(own, p, at, a, r)
			if !ok || takes && t.barredName(k, a) != Allowed {
				t.abandon(own)
				return place{}, moved // the policy changed just now
			}
		}
		if t.isBlocked(k) {
			own.m = t.barPrivate(own)
		}
		// Room is reserved for the swap alone, so that inserters of one key do not
		// hold room twice.
		if !t.reserve() {
			continue
		}
		if swapHeader(g.header, h, h.announce(t.distance(&g, own.i), own.m)) {
			break
		}
		t.unreserve()
	}
	t.published.Add(1)
	t.help(&g, loadHeader(g.header))
	if late := at - now; late < 0 || late >= stepBack {
		// The clock was set back since the floor was raised (touch).
		t.setShift(own, late)
	} else if r != nil {
		r.Late = int64(late)
	}
	if takes {
		t.stats.missed.Add(1)
	}
	own.m = own.m.with(live)
	t.barIfBlocked(own, k)
	t.insertedBudgets(own, p, asks)
	t.notice(now)
	t.mayBeFull(own.i, now+clock.Time(used))
	if a != asks {
		return own, moved
	}
	return own, Allowed
}

// patience is how often an insert looks again for the room that another insert has
// reserved and not used yet. Between the two lies one swap, so it is a matter of
// nanoseconds unless the other was descheduled in the middle of it.
const (
	patience = 1 << 14
	spins    = 8 // before others are let run
)

// open writes the words of a new key, with what a asks for taken from each limit,
// and explains that in r unless it is nil. It returns how long until all of them are
// full, ns, and reports false if the plan in force does not admit that.
func (t *Table) open(w place, p *Policy, now clock.Time, a *Ask, r *Result) (used int64, ok bool) {
	plan, o := p.plan.Load(), bucket.OriginOf(w.m.inc())
	if a.takes() && admit(plan, a) != Allowed {
		return 0, false
	}
	try := attempt{plan: plan, at: now, urgent: a.Urgent, takes: a.takes(), tells: r != nil}
	for _, k := range plan.Active {
		l, n := &plan.Limits[k], a.of(plan, k)
		if n > l.Most(a.Urgent) {
			return 0, false
		}
		try.limit[k], try.cost[k] = l, n
		try.next[k] = l.First(o, now, n)
		try.raw[k] = try.next[k]
		try.left[k] = int32(min(l.Most(a.Urgent), bucket.MaxCount))
		used = max(used, l.Owes(try.next[k], o, now))
	}
	w.s.seen.Store(int64(now))
	for k := range bucket.MaxLimits {
		if l := plan.Coming(k); l != nil {
			t.openRing(w, l)
		}
		if plan.Init>>k&1 == 1 {
			t.openRing(w, &plan.Limits[k])
			// Zero, with this plan's parity, where the limit is not in force yet.
			word := plan.Parity()
			if try.limit[k] != nil {
				word = try.next[k]
			}
			t.word(w.i, k).Store(word)
		}
	}
	if r != nil {
		*r = Result{Plan: plan, At: now, Slot: w.id(), Keep: r.Keep}
		t.tell(w, &try, r)
	}
	return used, true
}

// claim makes a free slot within the window of g's home the caller's own,
// evicting if the window is full.
func (t *Table) claim(g *group, now clock.Time) (place, bool) {
	for {
		for d := g.home; d < g.home+window; d++ {
			i := g.at(d)
			s := t.slot(i)
			if m := s.load(); m.state() == free && s.swap(m, m.with(private)) {
				return place{i: i, s: s, m: m.with(private)}, true
			}
		}
		if !t.evictNear(g, now) {
			return place{}, false
		}
	}
}

// refuse answers for a key that there is no room for, and frees the slot that was
// claimed for it, if any.
func (t *Table) refuse(own place) (place, Verdict) {
	if own.s != nil {
		t.abandon(own)
	}
	t.stats.missed.Add(1)
	return place{}, Full
}

// abandon frees a slot that its owner did not publish.
func (t *Table) abandon(own place) {
	own.s.swap(own.m, own.m.emptied())
}

// distance is how far slot i is from g's first.
func (t *Table) distance(g *group, i uint32) uint32 {
	at := i - g.base
	if at < g.first {
		at += g.n
	}
	return at - g.first
}
