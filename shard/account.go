package shard

import (
	"math/bits"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Account is one budget of one key in the table: the slot and the incarnation, and the
// index of the limit.
type Account struct {
	slot uint64
	k    uint8
}

// Kicked reports whether a key is about to run out, or ran out, since Collect.
func (t *Table) Kicked() bool {
	d := t.dirty.Load()
	return d != nil && d.kicked.Load()
}

// Collect calls each for every budget of every key that used some, or wanted some,
// since the last call. Only one goroutine may call it at a time.
func (t *Table) Collect(each func(Account)) {
	d := t.dirty.Load()
	if d == nil {
		return
	}
	d.kicked.Store(false)
	for j := range d.above {
		if d.above[j].Load() == 0 {
			continue
		}
		for upper := d.above[j].Swap(0); upper != 0; upper &= upper - 1 {
			at := uint32(j*64 + bits.TrailingZeros64(upper))
			for set := d.slots[at].Swap(0); set != 0; set &= set - 1 {
				t.accounts(at*64+uint32(bits.TrailingZeros64(set)), each)
			}
		}
	}
}

// accounts calls each for the budgets of the key in slot i.
func (t *Table) accounts(i uint32, each func(Account)) {
	w := t.placeOf(i)
	p := t.policy(w.s.ident.Load())
	if !w.m.visible() || p == nil || !w.s.load().same(w.m) {
		return
	}
	for set := p.plan.Load().Budgets; set != 0; set &= set - 1 {
		each(Account{slot: w.id(), k: uint8(bits.TrailingZeros32(set))})
	}
}

func (t *Table) placeOf(i uint32) place {
	s := t.slot(i)
	return place{i: i, s: s, m: s.load()}
}

// account returns the place of an account, and its policy, if the key is still there and
// the budget in force.
func (t *Table) account(a Account) (place, *Policy, *bucket.Plan, bool) {
	w := t.placeOf(uint32(a.slot >> (64 - incShift)))
	p := t.policy(w.s.ident.Load())
	if !w.m.visible() || w.id() != a.slot || p == nil || !w.s.load().same(w.m) {
		return place{}, nil, nil, false
	}
	plan := p.plan.Load()
	return w, p, plan, plan.Budgets>>a.k&1 == 1
}

// Named tells whose the account is.
func (t *Table) Named(a Account) (apikey, endpoint string, p *Policy, k int, ok bool) {
	w, p, _, ok := t.account(a)
	if !ok {
		return "", "", nil, 0, false
	}
	apikey, endpoint = t.names(w)
	return apikey, endpoint, p, int(a.k), w.s.load().same(w.m)
}

// Usage is what an account says.
type Usage struct {
	Pending int64 // on credit: taken and not settled
	Left    int64 // on a lease
	Level   int64 // millionths of a token left of the limit that the budget stands beside
	Wanted  bool  // somebody was denied since the last Open
}

// Open reads an account, and has its tokens be in flight: none is taken off what is
// pending until they are settled with Done.
func (t *Table) Open(a Account) (u Usage, ok bool) {
	w, p, _, ok := t.account(a)
	o := bucket.OriginOf(w.m.inc())
	for ok {
		word := t.word(w.i, int(a.k))
		raw, plan := loadWord(word, p)
		if plan.Budgets>>a.k&1 == 0 || !w.s.load().same(w.m) {
			break
		}
		l, cur := t.read(w, plan, int(a.k), raw, 0)
		if !word.CompareAndSwap(raw, l.InFlight(cur, o)) {
			continue
		}
		if l.Mode() == bucket.OnLease {
			return Usage{Left: l.LeaseLeft(cur, o), Wanted: l.Wanted(cur, o)}, w.s.load().same(w.m)
		}
		u = Usage{Pending: l.Pending(cur, o)}
		if k := plan.Bounded(int(a.k)); k >= 0 {
			now := t.settling(w, p)
			b, cur := t.read(w, plan, k, t.word(w.i, k).Load(), now)
			u.Level = b.Level(cur, o, now)
		}
		return u, w.s.load().same(w.m)
	}
	return Usage{}, false
}

// Settlement is what became of what Open told.
type Settlement struct {
	Used  int64      // of what was pending, this is settled
	Level int64      // millionths of a token, with Used taken: less what is pending then, it is set
	Keep  bool       // leave the level
	Done  bool       // all that was told is settled
	Grant int64      // to the lease; less than 0 takes back
	Until clock.Time // the lease is good until then
}

// Settle answers an account. It reports false, and nothing has happened, where the key
// is gone, less is left of the lease than is to be taken back, or somebody kept the key
// busy.
//
// The level is set before the credit is there again: otherwise a key could use its
// credit twice by what it knew before.
func (t *Table) Settle(a Account, s Settlement) bool {
	w, p, plan, ok := t.account(a)
	if !ok {
		return false
	}
	if l := &plan.Limits[a.k]; l.Mode() == bucket.OnLease {
		// Before the grant, so that nothing of it is taken by the time of the one before.
		l.Ring(w.i).Until(t.onAxis(w, p, s.Until))
	}
	if k := plan.Bounded(int(a.k)); k >= 0 && !s.Keep && !t.setLevel(w, p, int(a.k), k, s.Level, s.Used) {
		return false
	}
	if !t.settleBudget(w, p, int(a.k), &s) {
		return false
	}
	t.mayBeFull(w.i, unknown)
	return true
}

// settleBudget settles the tokens themselves.
func (t *Table) settleBudget(w place, p *Policy, b int, s *Settlement) bool {
	o, word := bucket.OriginOf(w.m.inc()), t.word(w.i, b)
	for {
		raw, plan := loadWord(word, p)
		if plan.Budgets>>b&1 == 0 || !w.s.load().same(w.m) {
			return false
		}
		l, cur := t.read(w, plan, b, raw, 0)
		n := s.Used
		if l.Mode() == bucket.OnLease {
			if n = s.Grant; n < 0 && l.LeaseLeft(cur, o) < -n {
				return false
			}
		}
		if word.CompareAndSwap(raw, l.Settled(cur, o, n, s.Done)) {
			return true
		}
	}
}

// setLevel sets limit k to level, less what is pending of budget b but the tokens used,
// which are in it. The limit's word is loaded first and the budget's after it: takers
// charge in the other order, so what is in the first is in the second. A taker that has
// charged only the budget by then charges the limit afterwards: for an instant it counts
// twice, never not at all.
func (t *Table) setLevel(w place, p *Policy, b, k int, level, used int64) bool {
	o, word := bucket.OriginOf(w.m.inc()), t.word(w.i, k)
	// Busy, as for a gift: it may raise the level, and no gift may come in between.
	g := &t.cold(w.i).gifts
	given, ok := g.begin(giftTries)
	if !ok {
		return false
	}
	more := int64(0)
	defer func() { g.end(given, more+1) }() // so that a take that read the sum before notices
	for {
		raw := word.Load()
		budget, plan := loadWord(t.word(w.i, b), p)
		if plan.Budgets>>b&1 == 0 || plan.Bounded(b) != k || !w.s.load().same(w.m) {
			return false
		}
		now := t.settling(w, p)
		pending, cur := t.read(w, plan, b, budget, now)
		l, before := t.read(w, plan, k, raw, now)
		after := plan.Limits[k].Set(o, now, level-(pending.Pending(cur, o)-used)*1_000_000)
		if word.CompareAndSwap(raw, after) {
			c := bucket.Cell{Origin: o}
			t.correct(w, k, plan.Limits[k].SpentWhole(after, &c, now)-l.SpentWhole(before, &c, now))
			more = max(0, l.Busy(before, o, now)-plan.Limits[k].Busy(after, o, now))
			return true
		}
	}
}

// settling returns the time of an account's level: now, by the gate's clock, to which the
// key's time is moved on. Its own newest time may be long ago: a level put there would
// have refilled since.
func (t *Table) settling(w place, p *Policy) clock.Time {
	if t.clock == nil {
		return w.s.newest(nil)
	}
	at, _ := t.touch(w, p, t.clock.Now())
	return at
}

// names returns the names in the key of w. The endpoint is empty where the policy names
// it. They count only if w's incarnation did not change meanwhile.
func (t *Table) names(w place) (apikey, endpoint string) {
	id := w.s.ident.Load()
	a, e := identApikey(id), identEndpoint(id)
	var buf [2*maxName + 8]byte
	n := min(a+e, 2*maxName)
	t.keyBytes(w, buf[:], n)
	a = min(a, n)
	return string(buf[:a]), string(buf[a:n])
}
