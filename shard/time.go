package shard

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

const (
	// grain is how far a slot's seen may lag behind its newest caller: 2^16 ns,
	// 66 µs. It saves a busy key a store at every decision.
	grain = 1 << 16

	// stepBack is how far behind a key's newest time a caller must be to be taken
	// for a clock that was set back rather than for a late caller.
	stepBack = clock.Time(10 * time.Second)
)

// touch brings a caller's time together with the slot's, off the usual path
// (now within grain after seen). It returns the time to decide at, and by how
// much that is later than the caller's own.
//
// A later caller moves seen on. An earlier one is served at seen: what others
// left is there for it, its lateness mints nothing and costs nobody anything.
// One that is earlier by stepBack or more is no late caller: its clock was set
// back, and would wait for the old time to come again. From then on its times
// count from where the key's stopped: shift is added to them. Callers that
// still have the old time are served by it as before; both run on one axis, so
// what is admitted is bounded by whichever of the two goes further.
func (t *Table) touch(w place, p *Policy, now clock.Time) (at clock.Time, late int64) {
	s := w.s
	for {
		seen := clock.Time(s.seen.Load())
		if now >= seen {
			if now-seen <= grain {
				return now, 0
			}
			if t.shifted.Load() {
				t.unshift(w)
			}
			if t.moveOn(w, p, seen, now) {
				t.notice(now)
				return now, 0
			}
			continue
		}
		at, late = t.axis(w, seen, now)
		switch {
		case at > seen:
			if t.moveOn(w, p, seen, at) {
				return at, 0
			}
			continue
		case uint64(late) >= uint64(stepBack):
			t.setShift(w, clock.Time(late))
			return seen, 0
		}
		return seen, late
	}
}

// axis is touch without its consequences, for a time before seen: what now is on the
// key's axis, at least seen, and by how much that is later than the caller's own. From
// stepBack on, unsigned, that says that the clock was set back.
func (t *Table) axis(w place, seen, now clock.Time) (at clock.Time, late int64) {
	// Exact, and unsigned: the two may be over 292 years apart.
	behind := uint64(seen) - uint64(now)
	if c := t.cold(w.i); c.shiftInc.Load() == w.m.inc()+1 {
		// Of the two clocks that the caller may have, it has the one that fits better. One
		// that was set back may have been silent for longer than stepBack.
		switch shift := uint64(c.shift.Load()); {
		case shift > behind && shift-behind < behind && seen+clock.Time(shift-behind) > seen:
			return seen + clock.Time(shift-behind), 0
		case shift <= behind && behind-shift < uint64(stepBack):
			return seen, int64(behind - shift)
		}
	}
	return seen, int64(behind)
}

// axisOf is axis for an evictor. Where the clock was set back, a key that nobody else asks
// for goes on from where it stopped as well: from the first look on, so that none is
// taken for fuller than it is.
func (t *Table) axisOf(w place, seen, now clock.Time) clock.Time {
	if now >= seen {
		return now
	}
	at, late := t.axis(w, seen, now)
	if uint64(late) >= uint64(stepBack) && !t.isOld(now) {
		t.setShift(w, clock.Time(late))
	}
	return at
}

// isOld reports whether a reading of the gate's clock is from before the clock was set
// forth, as that of an evictor may be that was descheduled meanwhile: the shift that it
// saw is not that of the key's callers, who would be given the step once more.
func (t *Table) isOld(now clock.Time) bool {
	_, by := t.lag(now)
	return by >= uint64(stepBack)
}

// lag reads the gate's clock, and returns by how much now is behind it: 0 where it is not,
// or the table has none.
func (t *Table) lag(now clock.Time) (at clock.Time, by uint64) {
	if t.clock == nil {
		return now, 0
	}
	if at = t.clock.Now(); at <= now {
		return at, 0
	}
	return at, uint64(at) - uint64(now) // unsigned: the two may be over 292 years apart
}

// ownTime is now on the key's axis, without what the key is ahead because somebody was
// earlier.
func (t *Table) ownTime(w place, now clock.Time) clock.Time {
	if seen := clock.Time(w.s.seen.Load()); now < seen {
		if at, late := t.axis(w, seen, now); uint64(late) < uint64(stepBack) {
			return at - clock.Time(late)
		}
		return seen // the clock was set back, and nobody came since
	}
	return now
}

// onAxis turns a time of the gate's clock into one of the key's, which is ahead of it
// where the clock was set back.
func (t *Table) onAxis(w place, p *Policy, until clock.Time) clock.Time {
	if t.clock == nil {
		return until
	}
	now := t.clock.Now()
	at, late := t.touch(w, p, now)
	// Where the key's time is ahead only because somebody was earlier, the clock comes to
	// it by itself.
	if by := at - clock.Time(late) - now; until < math.MaxInt64-by {
		return until + by
	}
	return math.MaxInt64
}

// setShift notes by how much the key at w is ahead of its callers, as the bits of an
// unsigned number. The key is busy meanwhile, so that whoever stalls here does not write
// half of it over another incarnation's; whoever finds it busy leaves it to the next call.
func (t *Table) setShift(w place, by clock.Time) {
	c := t.cold(w.i)
	given, ok := c.gifts.begin(rollbackTries)
	if !ok {
		return
	}
	if w.s.load().same(w.m) {
		c.shift.Store(int64(by))
		c.shiftInc.Store(w.m.inc() + 1)
		if !t.shifted.Load() {
			t.shifted.Store(true)
		}
	}
	c.gifts.end(given, 0)
}

// unshift forgets the shift of the key at w: a caller's time caught up with the key's.
// When the clock is set back the next time, how far it was the last time would be
// taken for time that went by since.
func (t *Table) unshift(w place) {
	c, id := t.cold(w.i), w.m.inc()+1
	if c.shiftInc.Load() == id {
		c.shiftInc.CompareAndSwap(id, 0)
	}
}

// moveOn moves a slot's time from seen to a later one, which may need its words
// re-based. It reports false when seen moved meanwhile.
func (t *Table) moveOn(w place, p *Policy, seen, to clock.Time) bool {
	if !bucket.SameEra(seen, to) && !t.rebase(w, p, seen, to) {
		return false
	}
	return w.s.seen.CompareAndSwap(int64(seen), int64(to))
}

// read returns the limit that decides on word k as it was loaded, and the word in
// its terms (bucket.Plan.Read). at is a time that no take in the word need exceed.
func (t *Table) read(w place, plan *bucket.Plan, k int, raw uint64, at clock.Time) (*bucket.Limit, uint64) {
	if bucket.Parity(raw) == plan.Parity() {
		return &plan.Limits[k], raw
	}
	return plan.Read(k, raw, bucket.OriginOf(w.m.inc()), max(at, w.s.newest(t.clock)))
}

// latest returns a time that no taker so far was later than.
func (s *slot) latest() clock.Time { return clock.Time(s.seen.Load()) + grain }

// newest is latest made tighter by the gate's clock, whose readings takers' times
// are: none is later than it is now. c may be nil.
func (s *slot) newest(c clock.Clock) clock.Time {
	latest := s.latest()
	if c == nil {
		return latest
	}
	return min(max(latest-grain, c.Now()), latest)
}

// see makes seen exactly at, unless it is later, for takes that may be refunded.
func (t *Table) see(w place, p *Policy, at clock.Time) {
	for {
		seen := clock.Time(w.s.seen.Load())
		if seen >= at || t.moveOn(w, p, seen, at) {
			return
		}
	}
}

// rebase rewrites the words of a slot before seen moves on into another era
// (bucket, "Wrapping"). It reports false when seen moved meanwhile.
//
// A word counts as read before seen moved only if seen is looked at again after
// it: a taker charges the word after it moved seen, so what it charged is not
// taken for an old word.
func (t *Table) rebase(w place, p *Policy, seen, now clock.Time) bool {
	for _, k := range p.plan.Load().Active {
		word := t.word(w.i, k)
		for {
			raw, plan := loadWord(word, p)
			if w.s.seen.Load() != int64(seen) {
				return false
			}
			if !w.s.load().same(w.m) {
				return true // the word is another key's; the caller will notice too
			}
			l, cur := t.read(w, plan, k, raw, seen)
			c := t.state(w, k, l, raw)
			if word.CompareAndSwap(raw, l.Renew(cur, &c, seen, now)) {
				break
			}
		}
	}
	return true
}

// loadWord loads a word, and then the plan to read it by. In this order the plan
// is never older than the word; it may be one generation newer, which the word's
// parity tells.
func loadWord(word *atomic.Uint64, p *Policy) (uint64, *bucket.Plan) {
	raw := word.Load()
	return raw, p.plan.Load()
}
