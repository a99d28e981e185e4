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
	if brought := next.Init &^ old.Init; brought != 0 {
		// Words that come into force: first they get the parity of the present
		// generation, in old slots by the walk and in new ones by their inserters.
		p.plan.Store(old.Prepare(next))
		t.walk(p, func(w place) {
			for k := range bucket.MaxLimits {
				if brought>>k&1 == 1 {
					t.word(w.i, k).Store(old.Parity())
				}
			}
		})
	}
	p.plan.Store(next)
	t.walk(p, func(w place) {
		o := bucket.OriginOf(w.m.inc())
		for _, k := range next.Active {
			word := t.word(w.i, k)
			for {
				raw := word.Load()
				if bucket.Parity(raw) == next.Parity() || word.CompareAndSwap(raw, next.Current(k, raw, o, clock.Time(w.s.seen.Load()))) {
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

// walk calls do for every key of p, pinned, so that it keeps its slot meanwhile.
// It waits for slots that are being written: their inserter may have loaded the
// plan before it changed.
func (t *Table) walk(p *Policy, do func(place)) {
	for i := range t.slots {
		s := t.slot(i)
		m := s.load()
		for m.state() == private {
			runtime.Gosched()
			m = s.load()
		}
		w := place{i, s, m}
		if !m.visible() || t.policy(s.ident.Load()) != p {
			continue
		}
		if ok, _ := w.pin(pinMask); ok {
			do(w)
			w.unpin()
			t.mayBeFull(i, unknown)
		}
	}
}
