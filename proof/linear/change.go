package linear

import (
	"math"
	"slices"
)

// An Apply is two steps for a key. From publish on the new limits are there, and who takes by
// them converts what the key has used; who began before may still decide by the old
// ones. From convert on, at the latest, all is in the terms of the new ones. Applies come
// one at a time.
func (m *spec) publish(s state, o *op) []state {
	if s.applying != 0 {
		return nil
	}
	s.applying = o.id + 1
	if o.plan != s.plan {
		s.next = o.plan + 1
	}
	return []state{s}
}

func (m *spec) converted(s state, o *op) []state {
	if s.applying != o.id+1 {
		return nil
	}
	if s.next != 0 {
		s = m.change(s, o.hi)
	}
	s.applying = 0
	return []state{s}
}

// change puts the limits that were published into force: as many tokens as were used
// are used, in their terms, rounded up. No take that is given back later is the last
// one in its terms, and none at another rate is given back.
func (m *spec) change(s state, at int64) state {
	l, to := m.at(s.plan), m.at(s.next-1)
	s.plan, s.next = s.next-1, 0
	other := l.q != to.q || l.c != to.c
	if other {
		s.full = at*to.q + ceil(max(0, s.full-at*l.q)*to.c, l.c)
	}
	s.kept = slices.Clone(s.kept)
	for i := range s.kept {
		s.kept[i].first = math.MinInt64
		s.kept[i].other = s.kept[i].other || other
	}
	return s
}
