package shard

import (
	"math"

	"github.com/tickgate/tickgate/clock"
)

// looks bounds how often an evictor looks for full keys at a newer time before it forces
// one out that owes.
const looks = 4

// laterThan returns the time to evict at by the gate's clock, if that is later than now by
// more than a key's time may lag. A change dates what it converts: a key that was full long
// before it is full since, and owes at the time of a caller who was late, or of an evictor
// that was descheduled. So nobody is forced out on such a time alone.
func (t *Table) laterThan(now clock.Time) (clock.Time, bool) {
	at, by := t.lag(now)
	if by <= grain {
		return now, false
	}
	return t.evictTime(at), true
}

// force drops the key that owes least, in time until it is full. What it owes is
// forgiven: the caller's limit may be exceeded by that much, and it is counted.
func (t *Table) force(now clock.Time) bool {
	for range 8 {
		var best place
		least, found := int64(math.MaxInt64), false
		// The hints are lower bounds, so the block with the lowest is scanned until
		// what it holds is not above any other's bound.
		for range 8 {
			b, next := t.lowest()
			w, at, ok := t.leastOwing(b, now)
			if ok && at < least {
				best, least, found = w, at, true
			}
			if found && least <= next {
				break
			}
		}
		if !found {
			return false
		}
		if t.forget(best) {
			return true
		}
	}
	return false
}

// forget drops a key whatever it owes.
func (t *Table) forget(w place) bool {
	if !w.s.swap(w.m, w.m.emptied()) {
		return false
	}
	t.freed()
	t.stats.forced.Add(1)
	return true
}

// lowest returns the block with the lowest hint, and the second lowest hint.
func (t *Table) lowest() (block uint32, next int64) {
	low, next := int64(math.MaxInt64), int64(math.MaxInt64)
	for b := range t.hints {
		h := t.hints[b].Load()
		if h == scanning {
			h = unknown
		}
		switch {
		case h < low:
			block, low, next = uint32(b), h, low
		case h < next:
			next = h
		}
	}
	return block, next
}

// leastOwing scans a block for the key that will be full first, raises the
// block's hint to that time, and returns both.
func (t *Table) leastOwing(b uint32, now clock.Time) (best place, at int64, found bool) {
	t.hints[b].Store(scanning)
	at = noKeys
	hint := int64(noKeys)
	for i, to := t.block(b); i < to; i++ {
		w, ok := t.candidate(i, now)
		if !ok {
			hint = min(hint, t.banOver(w, now))
			continue
		}
		wait, _, ok := t.owes(w, now)
		if full := int64(now) + wait; ok && full < at {
			best, at, found = w, full, true
		}
	}
	lower(&t.hints[b], min(hint, at))
	return best, at, found
}

// evictNear frees a slot in the window of g's home, which is taken up although
// the table is not full: only many keys with nearly equal hashes do that.
func (t *Table) evictNear(g *group, now clock.Time) bool {
	if t.reject {
		return false
	}
	for tries := range 8 {
		var best place
		least := int64(math.MaxInt64)
		for d := g.home; d < g.home+window; d++ {
			w, ok := t.candidate(g.at(d), now)
			if !ok {
				if w.m.state() == free {
					return true
				}
				continue
			}
			wait, _, ok := t.owes(w, now)
			if ok && wait == 0 && t.drop(w, now) {
				return true
			}
			if ok && wait < least {
				best, least = w, wait
			}
		}
		if best.s == nil {
			return false
		}
		if later, ok := t.laterThan(now); ok && tries < looks {
			now = later
			continue
		}
		if t.forget(best) {
			return true
		}
	}
	return false
}
