package shard

import (
	"runtime"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Change puts a plan into force, which must be p's next ([bucket.Plan.Next]). It
// is not for concurrent use with itself; takers go on meanwhile.
//
// Every word of the policy is converted once, by the first who meets it: a taker,
// in its own swap, or the walk here. Change returns when the walk is done, so
// that no word is ever two generations old, which its one parity bit could not
// tell.
func (t *Table) Change(p *Policy, next *bucket.Plan, now clock.Time) {
	old := p.plan.Load()
	if brought := next.Init &^ old.Init; brought != 0 || next.BringsRings() {
		// Words that come into force: first they get the parity of the present
		// generation, in old slots by the walk and in new ones by their inserters. Rings
		// likewise, also those of limits whose word is another's still.
		prepared := old.Prepare(next)
		p.plan.Store(prepared)
		t.walk(p, func(w place) {
			for k := range bucket.MaxLimits {
				if l := prepared.Coming(k); l != nil {
					t.openRing(w, l)
				}
				if brought>>k&1 == 1 {
					t.word(w.i, k).Store(old.Parity())
				}
			}
		})
	}
	if t.clock != nil {
		now = t.clock.Now() // as late as can be: what is taken until then is of the old rate
	}
	next.Begin(now)
	p.plan.Store(next)
	t.walk(p, func(w place) {
		for _, k := range next.Active {
			for word := t.word(w.i, k); ; {
				raw := word.Load()
				if bucket.Parity(raw) == next.Parity() || word.CompareAndSwap(raw, t.converted(w, next, k, raw)) {
					break
				}
			}
		}
	})
	// Whoever evicts next would have to look at every key: the caller has the time.
	t.forgetHints()
	for b := range t.hints {
		t.leastOwing(uint32(b), now)
	}
}

// converted returns word k of the plan before as one of next. Where that writes a
// ring, only the walk does it, and the limit of before is in force until then. A
// taker can make it do so again, but no more often than that limit admits.
func (t *Table) converted(w place, next *bucket.Plan, k int, raw uint64) uint64 {
	newest, l := w.s.newest(t.clock), &next.Limits[k]
	if prev := next.Before(k, raw); prev != nil {
		c := t.state(w, k, prev, raw)
		return l.TakeOver(prev, raw, &c, l.Ring(w.i), next.ChangedFor(newest))
	}
	_, cur := next.Read(k, raw, bucket.OriginOf(w.m.inc()), newest)
	return cur
}

// openRing makes the ring of a limit, if it has one, that of w's key.
func (t *Table) openRing(w place, l *bucket.Limit) {
	if l.Rings() != nil {
		c := t.state(w, 0, l, 0)
		c.Open()
	}
}

// walk calls do for every key of p, pinned, so that it keeps its slot meanwhile.
func (t *Table) walk(p *Policy, do func(place)) {
	t.visit(func(w place) {
		if t.policy(w.s.ident.Load()) != p {
			return
		}
		ok, full := w.pin(pinMask)
		for full { // handles leave one; a roll-back has it for a moment
			runtime.Gosched()
			ok, full = w.pin(pinMask)
		}
		if ok {
			do(w)
			w.unpin()
			t.mayBeFull(w.i, unknown)
		}
	})
}

// visit calls do for every key. It waits for slots that are being written: their
// inserter may have loaded what was changed before it changed.
func (t *Table) visit(do func(place)) {
	for i := range t.slots {
		s := t.slot(i)
		m := s.load()
		for m.state() == private {
			runtime.Gosched()
			m = s.load()
		}
		if m.visible() {
			do(place{i, s, m})
		}
	}
}
