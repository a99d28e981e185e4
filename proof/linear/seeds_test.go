package linear

// stalls are where the seeded build lets others go on: between any two steps of which an
// argument says that something may happen there. They are there without a bug too.
// The table is made small, and keys have only four homes, so that slots are used again and
// again by different keys.
var stalls = []edit{
	{"shard/table.go", "	minShard = 512\n", "	minShard = 32\n"},
	{"shard/table.go", "	window = 256\n", "	window = 16\n"},
	{"shard/table.go", "uint32(uint64(uint32(hash)) * uint64(t.shardSlots) >> 32)", "uint32(hash >> 30 & 3)"},
	{"shard/take.go", "	for {\n		raw, plan := loadWord(&s.words[0], p)\n", "	stall()\n	for {\n		raw, plan := loadWord(&s.words[0], p)\n"},
	{"shard/take.go", "		next, ok := l.Take(raw, o, at, n)\n", "		stall()\n		next, ok := l.Take(raw, o, at, n)\n"},
	{"shard/insert.go", "		if !t.reserve() {\n", "		stall()\n		if !t.reserve() {\n"},
	{"shard/evict.go", "	wait, at, ok := t.owes(place{w.i, w.s, closed}, now)\n", "	stall()\n	wait, at, ok := t.owes(place{w.i, w.s, closed}, now)\n	stall()\n"},
	{"shard/group.go", "		if h.w.s.words[0].CompareAndSwap(raw[i], next[i]) {\n", "		stall()\n		if h.w.s.words[0].CompareAndSwap(raw[i], next[i]) {\n"},
	{"shard/group.go", "		if g.t.charge(g.pins[i].w, g.pins[i].p, &tries[i]) {\n", "		stall()\n		if g.t.charge(g.pins[i].w, g.pins[i].p, &tries[i]) {\n"},
	{"shard/change.go", "	p.plan.Store(next)\n	t.walk(p, func(w place) {\n", "	p.plan.Store(next)\n	stall()\n	t.walk(p, func(w place) {\n"},
	{"shard/change.go", "				raw := word.Load()\n", "				raw := word.Load()\n				stall()\n"},
	{"shard/bars.go", "	t.blocked.Store(&next)\n", "	t.blocked.Store(&next)\n	stall()\n"},
}

// seed is a bug: where it is put, and the test that must fail of it.
type seed struct {
	bug    string
	caught string // by this test
	rare   bool   // it takes some seconds
	edits  []edit
}

var seeds = []seed{
	{"evict without closing", "TestTakes", false, []edit{{"shard/evict.go",
		"func (t *Table) drop(w place, now clock.Time) bool {\n", `func (t *Table) drop(w place, now clock.Time) bool {
	if has("evict without closing") {
		wait, at, ok := t.owes(w, now)
		stall()
		if !ok || wait > 0 {
			return false
		}
		t.raiseFloor(w.i, at)
		if !w.s.swap(w.m, w.m.emptied()) {
			return false
		}
		t.freed()
		t.stats.idle.Add(1)
		return true
	}
`}}},
	{"evict whatever the sequence says", "TestTakes", false, []edit{{"shard/evict.go",
		"	if !w.s.swap(closed, closed.emptied()) {\n", `	if has("evict whatever the sequence says") {
		stall()
		closed = w.s.load()
	}
	if !w.s.swap(closed, closed.emptied()) {
`}}},
	{"take without a look at the sequence", "TestTakes", false, []edit{{"shard/take.go",
		"		if m := s.load(); m.same(w.m) && m.state() == live || s.settle(w.m) {\n",
		`		if m := s.load(); has("take without a look at the sequence") || m.same(w.m) && m.state() == live || s.settle(w.m) {
`}}},
	{"publish before the key is written", "TestTakes", false, []edit{
		{"shard/insert.go", "			t.write(own.i, own.s, k)\n", `			if !has("publish before the key is written") {
				t.write(own.i, own.s, k)
			}
`}, {"shard/insert.go", "	t.published.Add(1)\n	t.help(&g, loadHeader(g.header))\n", `	t.published.Add(1)
	t.help(&g, loadHeader(g.header))
	if has("publish before the key is written") {
		stall()
		t.write(own.i, own.s, k)
	}
`}}},
	{"date before the eviction", "TestTakes", false, []edit{{"shard/insert.go",
		"floor := max(now, t.floorOf(own.i)); ", `floor := t.floor(now, own.i); `}, {"shard/insert.go",
		"// refuse answers for", `func (t *Table) floor(now clock.Time, i uint32) clock.Time {
	if has("date before the eviction") {
		return now
	}
	return max(now, t.floorOf(i))
}

// refuse answers for`}}},
	{"incarnation dropped", "TestTakes", false, []edit{{"shard/meta.go",
		"return (m & incMask) + incOne }", `if has("incarnation dropped") { return m & incMask }; return (m & incMask) + incOne }`}}},
	{"swap without a look at the sequence", "TestStrangersTake", false, []edit{{"shard/take.go",
		"		if !s.load().open(w.m) {\n			return moved, plan, 0, at, late\n		}\n		if !l.Fits", `		if !has("swap without a look at the sequence") && !s.load().open(w.m) {
			return moved, plan, 0, at, late
		}
		if !l.Fits`}}},
	{"version of the header dropped", "TestTakes", false, []edit{{"shard/header.go",
		"return (h>>versionShift + 1) << versionShift }", `if has("version of the header dropped") { return 0 }; return (h>>versionShift + 1) << versionShift }`}}},
	{"axes of changes dropped", "TestApplies", true, []edit{{"bucket/limit.go",
		"	return l.marked(uint64(gen)*axisStep | parity)\n", `	if has("axes of changes dropped") {
		return l.marked(parity)
	}
	return l.marked(uint64(gen)*axisStep | parity)
`}}},
	{"refund after re-use", "TestRefundsOfReleasedHandles", false, []edit{{"shard/giveback.go",
		"	given := c.busyWith()\n	plan := h.p.plan.Load()\n	most := int64(0)\n	for i, k := range plan.Active {\n", `	for range 8 {
		stall()
	}
	given := c.busyWith()
	plan := h.p.plan.Load()
	most := int64(0)
	for i, k := range plan.Active {
`}, {"shard/giveback.go", "plan.Gen() || !w.s.load().same(w.m) {\n			return 0\n", `plan.Gen() || !has("refund after re-use") && !w.s.load().same(w.m) {
			return 0
`}, {"shard/giveback.go", "	word, o := t.word(w.i, k), bucket.OriginOf(w.m.inc())\n", `	word, o := t.word(w.i, k), bucket.OriginOf(w.m.inc())
	if has("refund after re-use") {
		o = bucket.OriginOf(w.s.load().inc())
	}
`}}},
	{"refund of another life", "TestRefundsOfOthers", false, []edit{{"shard/giveback.go",
		"	if r.Slot != h.w.id() || r.N <= 0", `	if !has("refund of another life") && r.Slot != h.w.id() || r.N <= 0`}}},
	{"refund of all", "TestRefunds", false, []edit{{"bucket/giveback.go",
		"	gone := max(0, since-base)\n", `	gone := max(0, since-base)
	if has("refund of all") {
		gone = 0
	}
`}}},
	{"credit not remembered", "TestFeedback", false, []edit{{"shard/giveback.go",
		"		_, ns := h.credit(k, at, n)\n		most = max(most, ns)\n	}\n	c.gifts.end(given, most)\n	h.t.mayBeFull(h.w.i, unknown)\n}\n\n// credit gives", `		_, ns := h.credit(k, at, n)
		if !has("credit not remembered") {
			most = max(most, ns)
		}
	}
	c.gifts.end(given, most)
	h.t.mayBeFull(h.w.i, unknown)
}

// credit gives`}}},
	{"charge without a swap", "TestFeedback", false, []edit{{"shard/pin.go",
		"got == bucket.Fits && word.CompareAndSwap(raw, next) {", `got == bucket.Fits && (has("charge without a swap") && put(word, next) || word.CompareAndSwap(raw, next)) {`}, {"shard/pin.go",
		"// at is now on", `func put(word *atomic.Uint64, next uint64) bool {
	stall()
	word.Store(next)
	return true
}

// at is now on`}, {"shard/pin.go", "import (\n", "import (\n\t\"sync/atomic\"\n"}}},
	{"ban that shortens", "TestBans", false, []edit{{"shard/bars.go",
		"	if b&bannedBar == 0 || clock.Time(c.ban.Load()) < until {\n", `	if has("ban that shortens") || b&bannedBar == 0 || clock.Time(c.ban.Load()) < until {
`}}},
	{"banned key evicted", "TestBans", false, []edit{{"shard/evict.go",
		"!(m.barred() && t.banned(w, now))", `(has("banned key evicted") || !(m.barred() && t.banned(w, now)))`}}},
	{"new key not blocked", "TestBlocks", false, []edit{{"shard/bars.go",
		"	set := *t.blocked.Load()\n	if len(set) == 0 {", `	set := *t.blocked.Load()
	if len(set) == 0 || has("new key not blocked") {`}}},
	{"count forgets what came after", "TestVenueCounts", false, []edit{{"shard/sync.go",
		"	by := most(used, since) - before\n", `	if has("count forgets what came after") {
		since = 0
	}
	by := most(used, since) - before
`}}},
	{"conversion applied twice", "TestApplies", false, []edit{{"shard/change.go",
		"				if bucket.Parity(raw) == next.Parity() || word", `				if has("conversion applied twice") && bucket.Parity(raw) == next.Parity() {
					word.CompareAndSwap(raw, next.Twice(k, raw, bucket.OriginOf(w.m.inc()), w.s.newest(t.clock)))
					break
				}
				if bucket.Parity(raw) == next.Parity() || word`}, {"bucket/plan.go",
		"// Before returns", `// Twice converts a word once more.
func (p *Plan) Twice(i int, w uint64, o Origin, newest clock.Time) uint64 {
	l, prev := &p.Limits[i], &p.prev.Limits[i]
	return l.Convert(prev, w-l.mark+prev.mark, o, p.ChangedFor(newest))
}

// Before returns`}}},
	{"Join charges one key and does not undo it", "TestSeveral", false, []edit{{"shard/group.go",
		"			g.unchargeUsual(plans[:i], ats[:i], n)\n", `			if has("Join charges one key and does not undo it") {
				goto again
			}
			g.unchargeUsual(plans[:i], ats[:i], n)
`}, {"shard/group.go", "		g.uncharge(tries[:i])\n", `		if has("Join charges one key and does not undo it") {
			return false
		}
		g.uncharge(tries[:i])
`}}},
	{"Join charges without a look", "TestSeveralNeverOverAdmit", false, []edit{{"shard/group.go",
		"		charged := false\n", `		charged := has("Join charges without a look")
`}}},
}
