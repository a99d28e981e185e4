package linear

import "slices"

// give takes units off what is used, down to what time has refilled at floor, and counts
// ns of refill as given.
func (s state) give(o *op, units, ns, above int64) state {
	s.full -= min(units, max(0, above))
	if ns > 0 {
		s.gave = true
		if o.heard > 0 {
			s.gifts = append(slices.Clone(s.gifts), gift{o, ns})
		}
		s.kept = slices.Clone(s.kept)
		for i, r := range s.kept {
			s.kept[i] = r.count(ns)
		}
	}
	return s
}

// bounds are what may be taken for a time than which no take in the bucket is later: the
// clock, but within grain of the newest time that the key knows, as they were after
// the last take, not as they are: a denial since then may have brought a newer
// time, and left nothing in the bucket that could be minted.
func (m *spec) bounds(s state, o *op, from int64) (all []int64) {
	for seen := o.hi; seen >= max(s.newest, o.lo)-m.lag; seen -= m.tick {
		for now := max(seen, o.begun); now <= o.hi; now += m.tick {
			if p2 := max(min(now, seen+m.grain), from); !slices.Contains(all, p2) {
				all = append(all, p2)
			}
		}
	}
	return all
}

// refund gives back x − max(0, P2 − max(P1, B − R)) of a charge x at P1 on base B,
// where R was given since and no take in the bucket is later than P2; all of it if
// nobody took or gave since. It has no answer.
//
// A refund that meets another, or a change of the policy, may give nothing; one of a
// take at another rate gives nothing.
func (m *spec) refund(s state, o *op) (next []state) {
	i := s.receipt(o.of)
	if i < 0 {
		return nil // after its take only
	}
	l, r := m.at(s.plan), s.kept[i]
	s.kept = slices.Delete(slices.Clone(s.kept), i, i+1)
	if len(o.during) > 0 || r.other || o.changing {
		next = append(next, s)
	}
	if r.other {
		return next
	}
	x := o.n * l.c
	give := func(units, p2 int64) {
		t := s
		if units > 0 {
			t.corrected -= o.n
		}
		next = add(next, t.give(o, units, ceil(units, l.q), s.full-p2*l.q))
	}
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
		for _, p2 := range m.bounds(s, o, r.at) {
			gone := max(0, p2-r.at-max(0, r.ahead-since))
			give(max(0, x-gone*l.q), p2)
		}
	}
	return next
}

// receipt returns which of the kept receipts is of a take, -1 if none is.
func (s state) receipt(of int) int {
	return slices.IndexFunc(s.kept, func(r receipt) bool { return r.op == of })
}

// charge takes whatever is left: the bucket may come to owe.
func (m *spec) charge(s state, o *op) (next []state) {
	l := m.at(s.plan)
	for _, at := range m.times(o.begun, o) {
		t := s
		t.newest = max(s.newest, at)
		t.full = max(s.full, at*l.q) + o.n*l.c
		next = add(next, t)
	}
	return next
}

// credit gives n tokens back, down to nothing used. What it gave counts for later
// refunds.
func (m *spec) credit(s state, o *op) (next []state) {
	l := m.at(s.plan)
	for _, at := range m.times(o.begun, o) {
		used := max(0, s.full-at*l.q)
		t := s
		t.corrected -= o.n
		next = add(next, t.give(o, o.n*l.c, ceil(min(o.n*l.c, used), l.q), used))
	}
	return next
}

// venue sets what is used to a venue's count as of a take, and to that what was admitted
// or charged since. It is not used if a later take's count was, and may not be if the
// take met a correction half done. Even then it counts as a correction.
func (m *spec) venue(s state, o *op) (next []state) {
	i := s.receipt(o.of)
	if i < 0 {
		return nil
	}
	l, r := m.at(s.plan), s.kept[i]
	if r.blind {
		next = append(next, s) // its decision says so, and nothing is done
	}
	if r.at < s.syncedAt || r.at == s.syncedAt && r.mark < s.synced {
		return add(next, s.give(o, 0, 1, 0))
	}
	s.syncedAt, s.synced = r.at, r.mark
	// What it corrects is reckoned from what it finds used: others take before it does it.
	for _, lacks := range o.extras {
		is := max(0, s.full-o.hi*l.q-lacks*l.c) / l.c
		by := max(0, o.used+is-s.corrected-r.mark) - is
		if by >= 0 {
			t := s
			if by > 0 {
				t.full = max(s.full, o.hi*l.q) + by*l.c
			}
			t.corrected += by
			next = add(next, t.give(o, 0, 1, 0))
			continue
		}
		for _, p2 := range m.bounds(s, o, r.at) {
			// What the venue did not count may be what time has given back since.
			units, t := max(0, -by*l.c-(p2-r.at)*l.q), s
			if units > 0 {
				t.corrected += by
			}
			next = add(next, t.give(o, units, ceil(units, l.q)+1, s.full-p2*l.q))
		}
	}
	return next
}
