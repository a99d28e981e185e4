package linear

// A take by several keys is, for each of them, a take that is allowed if all are. Of one
// that is denied the key that decided tells its level; the others show no trace
// of it, but that they may have been charged for a moment: the calls that overlap it may
// see so much less (op.extras).

// rolls reports whether the key may be charged for o and given it back.
func (o *op) rolls() bool { return o.n > 0 && (o.kind == ghost || o.kind == take && o.several) }

// lost adds to the states that o leaves those in which a charge was not given back,
// where the specification allows that: another call kept the key busy.
func (m *spec) lost(s state, o *op, next []state) []state {
	if !m.lossy || !o.rolls() || !o.crowded {
		return next
	}
	l := m.at(s.plan)
	for _, t := range next {
		t.full = max(t.full, o.hi*l.q) + o.n*l.c
		next = add(next, t)
	}
	return next
}

// returned gives back what a take by several keys took at o.at, less what time has
// refilled since.
func (m *spec) returned(s state, o *op) (next []state) {
	l := m.at(s.plan)
	for _, p2 := range m.bounds(s, o, o.at) {
		units := max(0, (o.n*l.c)-(p2-o.at)*l.q)
		next = add(next, s.give(o, units, ceil(units, l.q), s.full-p2*l.q))
	}
	return next
}
