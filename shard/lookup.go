package shard

// place is a slot that holds a key, with the meta under which it was found.
type place struct {
	i uint32
	s *slot
	m meta
}

// find looks k up. What it finds counts only while the slot has the incarnation
// of the returned meta: meta is loaded before the key is compared, and whoever
// acts on the place looks at meta again afterwards. Where it finds nothing, it
// returns the header under which it searched in vain.
func (t *Table) find(k *Key) (place, header, bool) {
	if w, ok := t.nearby(k); ok {
		return w, 0, true
	}
	g := t.group(k.hash)
	h := loadHeader(g.header)
	w, ok := t.search(&g, h, k)
	return w, h, ok
}

// nearby looks for k in the first slots from its home position on.
func (t *Table) nearby(k *Key) (place, bool) {
	base, off := t.home(k.hash)
	for to := min(off+near, t.shardSlots); off < to; off++ {
		i := base + off
		s := t.slot(i)
		m := s.load()
		if m.visible() && t.is(i, s, k) {
			return place{i, s, m}, true
		}
	}
	return place{}, false
}

// findPending is find for those who would answer that a key is not there: one
// that is being published counts as there, so its publication is completed first.
func (t *Table) findPending(k *Key) (place, bool) {
	g := t.group(k.hash)
	return t.search(&g, t.help(&g, loadHeader(g.header)), k)
}

// Touch loads the line where k would be, so that it is on its way when k is
// looked up. It decides nothing.
func (t *Table) Touch(k *Key) {
	base, off := t.home(k.hash)
	t.slot(base + off).load()
	t.slot(base + min(off+1, t.shardSlots-1)).load()
}

// search looks for k from its home position to the reach that h tells.
func (t *Table) search(g *group, h header, k *Key) (place, bool) {
	for d, reach := g.home, h.reach(); d < reach; d++ {
		i := g.at(d)
		s := t.slot(i)
		m := s.load()
		if m.visible() && t.is(i, s, k) {
			return place{i, s, m}, true
		}
	}
	return place{}, false
}

// settle makes sure that a decision on a slot stands: it reports whether the
// slot still has m's incarnation, after reopening it if an evictor is about to
// close it. The caller has taken from the slot, or seen it less than full; an
// evictor that looked before then must not get its way.
func (s *slot) settle(m meta) bool {
	for {
		now := s.load()
		if !now.same(m) {
			return false
		}
		if now.state() == live {
			return true
		}
		s.swap(now, now.with(live))
	}
}
