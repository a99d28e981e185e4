package linear

// bug is what a toy does wrong.
type bug string

const (
	none         bug = ""
	publishEarly bug = "a slot is visible before its key is written"
	noRecheck    bug = "a take counts though its slot lost the key"
	killAtOnce   bug = "an evictor looks once, and does not say so before"
	noFloor      bug = "a key comes back dated before its eviction"
	insertTwice  bug = "an insert does not see another's of the same key"
	refundAll    bug = "a refund gives back what time has refilled"
	refundNoR    bug = "a refund does not count the ones before it"
	refundStale  bug = "a refund's bound on takers' times is older than the word"
)

// toy is a table of two slots with the steps of the real one, one goroutine, and
// at most one bug. Between its steps it calls hooks, in which a test lets other
// calls take place: an interleaving is written down, not hoped for.
type toy struct {
	limit
	bug    bug
	clock  int64
	slots  [2]toySlot
	floor  int64
	given  int64
	stamps int64
	ops    []*op
	hooks  map[string]func() // by step; each runs once
	kept   map[*op]receipt
}

type toySlot struct {
	visible, closing bool
	inc              int
	key              string // stays when the slot is freed
	full, seen       int64
}

func (t *toy) step(name string) {
	if f := t.hooks[name]; f != nil {
		delete(t.hooks, name)
		f()
	}
}

func (t *toy) find(key string) *toySlot {
	for i := range t.slots {
		if s := &t.slots[i]; s.visible && s.key == key {
			return s
		}
	}
	return nil
}

func (t *toy) takeAt(now int64, key string, n int64, o *op) answer {
	for {
		s := t.find(key)
		if s == nil {
			if got, ok := t.insert(now, key, n, o); ok {
				return got
			}
			continue
		}
		inc := s.inc
		s.seen = max(s.seen, now)
		at, given := s.seen, t.given
		for {
			word := s.full
			t.step("loaded")
			after := max(0, word-at*t.q) + n*t.c
			if after > t.room() {
				s.closing = false
				return t.tell(at, now, after, n)
			}
			if s.full != word {
				continue // the swap fails
			}
			s.full = at*t.q + after
			t.kept[o] = receipt{at: at, ahead: max(0, word-at*t.q) / t.q, first: s.full, since: []int64{given}}
			t.step("charged")
			if s.inc == inc || t.bug == noRecheck {
				s.closing = false
				return t.tell(at, now, after, n)
			}
			break
		}
	}
}

func (t *toy) insert(now int64, key string, n int64, o *op) (got answer, ok bool) {
	t.step("missed")
	if t.find(key) != nil && t.bug != insertTwice {
		return got, false
	}
	s := &t.slots[0]
	if s.visible {
		s = &t.slots[1]
	}
	at := max(now, t.floor)
	write := func() {
		s.key, s.full, s.seen = key, at*t.q+n*t.c, at
		t.kept[o] = receipt{at: at, first: s.full, since: []int64{t.given}}
	}
	if t.bug == publishEarly {
		s.visible = true
		t.step("halfway")
		write()
	} else {
		write()
		t.step("halfway")
		s.visible = true
	}
	return t.tell(at, now, n*t.c, n), true
}

// tell explains a decision at a time, after which so much would be used.
func (t *toy) tell(at, now, after, n int64) (got answer) {
	if got.allowed = after <= t.room(); !got.allowed {
		got.retry = later(ceil(after-t.room(), t.q), at-now)
		after -= n * t.c
	}
	got.remaining = max(0, t.room()-after) / t.c
	got.reset = later(ceil(after, t.q), at-now)
	return got
}

func (t *toy) evict(key string) {
	s := t.find(key)
	at := max(t.clock, s.seen)
	look := func() bool { return s.full <= at*t.q }
	if !look() {
		return
	}
	if t.bug == killAtOnce {
		t.step("looked")
	} else {
		s.closing = true
		if !look() {
			s.closing = false
			return
		}
		t.step("looked")
		if !s.closing {
			return // somebody knew better
		}
	}
	if t.bug != noFloor {
		t.floor = max(t.floor, at)
	}
	*s = toySlot{inc: s.inc + 1, key: s.key, full: s.full}
}

func (t *toy) giveBack(key string, n int64, r receipt) {
	s, x := t.find(key), n*t.c
	p2 := max(t.clock, r.at)
	t.step("bound")
	if t.bug != refundStale {
		p2 = max(t.clock, r.at)
	}
	since := t.given - r.since[0]
	if t.bug == refundNoR {
		since = 0
	}
	give := max(0, x-max(0, p2-r.at-max(0, r.ahead-since))*t.q)
	switch {
	case t.bug == refundAll:
		give = x
	case since == 0 && s.full == r.first:
		give, p2 = x, r.at
	}
	s.full -= min(give, max(0, s.full-p2*t.q))
	t.given += ceil(give, t.q)
}

// take records a take of the key, or lets a stranger take.
func (t *toy) take(now int64, name string, n int64) *op {
	o := &op{kind: take, id: len(t.ops), now: now, n: n, call: t.stamp()}
	if name == key {
		t.ops = append(t.ops, o)
	}
	o.got = t.takeAt(now, name, n, o)
	o.ret, o.hi = t.stamp(), t.clock
	return o
}

func (t *toy) refund(of *op) {
	o := &op{kind: refund, id: len(t.ops), n: of.n, of: of.id, begun: t.clock, call: t.stamp()}
	t.ops = append(t.ops, o)
	t.giveBack(key, of.n, t.kept[of])
	o.ret, o.hi = t.stamp(), t.clock
}

func (t *toy) stamp() int64 {
	t.stamps++
	return t.stamps
}
