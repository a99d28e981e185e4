package shard

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/invariants"
)

// sweep is the state of eviction: where the hand is, and the round it makes.
//
// A table that is full makes room for a tenth of its keys, the oldest by last
// access among those that are full, whose loss forgives nothing. That is a
// round: cutoff is the access time that separates the oldest tenth, and the hand
// frees what is not younger, at most batch keys in one decision, until quota is
// used up. Two rounds that overlap free a little more or less.
type sweep struct {
	hand   atomic.Uint32
	cutoff atomic.Int64
	quota  atomic.Int64
	last   atomic.Int64 // time of the last eviction
	newest atomic.Int64 // newest time of any caller, up to a second behind
}

const (
	// batch bounds the keys one decision evicts, maxBlocks the blocks it looks at
	// for the oldest ones before any full key will do.
	batch     = 32
	maxBlocks = 16
)

// The states of a table's room.
const (
	someRoom = iota
	promised // none, but less than the table may hold can be found yet
	noRoom
)

// room tells whether there is room for one more key.
func (t *Table) room() int {
	switch {
	case t.keys.Load() < t.maxKeys:
		return someRoom
	case t.published.Load() < t.maxKeys:
		return promised
	}
	return noRoom
}

// reserve reserves room for one more key if there is any.
func (t *Table) reserve() bool {
	for {
		n := t.keys.Load()
		if n >= t.maxKeys {
			return false
		}
		if t.keys.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// evict frees at least one slot: of the oldest full keys; else of any full key;
// else of the key that owes least. It reports false when every key is pinned.
func (t *Table) evict(now clock.Time) bool {
	sw := &t.sweep
	now = t.evictTime(now)
	for tries := 0; tries < 2; tries++ {
		if sw.quota.Load() <= 0 || tries > 0 {
			t.round(now)
		}
		cutoff := sw.cutoff.Load()
		if cutoff == noneFull {
			break
		}
		want := int(min(max(sw.quota.Load(), 1), batch))
		if freed := t.sweepBlocks(now, cutoff, want, maxBlocks); freed > 0 {
			sw.quota.Add(-int64(freed))
			return true
		}
	}
	sw.quota.Add(-1)
	for range looks {
		if t.sweepBlocks(now, math.MaxInt64, 1, len(t.hints)) > 0 {
			return true
		}
		later, ok := t.laterThan(now)
		if !ok {
			break
		}
		now = later
	}
	return t.force(now)
}

// evictTime is the time to evict at: that of the last eviction for a caller who is
// late, so that nothing which was full then counts as owing. Where the callers'
// clock was set back, all hints are of the old time, and void.
func (t *Table) evictTime(now clock.Time) clock.Time {
	sw := &t.sweep
	if newest := clock.Time(sw.newest.Load()); newest > now && uint64(newest)-uint64(now) >= uint64(stepBack) {
		sw.newest.Store(int64(now))
		sw.last.Store(int64(now))
		t.forgetHints()
	}
	for {
		last := clock.Time(sw.last.Load())
		if last >= now {
			return last
		}
		if sw.last.CompareAndSwap(int64(last), int64(now)) {
			return now
		}
	}
}

// notice keeps the newest time of callers, coarsely, for evictTime.
func (t *Table) notice(now clock.Time) {
	// Unsigned, so that the first time is noticed whatever it is.
	if newest := clock.Time(t.sweep.newest.Load()); now > newest && uint64(now)-uint64(newest) > uint64(time.Second) {
		t.sweep.newest.Store(int64(now))
	}
}

// sweepBlocks moves the hand on until it has freed want full keys last accessed
// at or before cutoff, or scanned most blocks.
func (t *Table) sweepBlocks(now clock.Time, cutoff int64, want, most int) (freed int) {
	// Two that sweep at once go over the same blocks; both find something, or not.
	n, hand := uint32(len(t.hints)), t.sweep.hand.Load()
	defer func() { t.sweep.hand.Store(hand) }()
	for range n {
		hand++
		b := hand % n
		if !t.worthScanning(b, now) {
			continue
		}
		freed += t.sweepBlock(b, now, cutoff, want-freed)
		if most--; freed >= want || most <= 0 {
			break
		}
	}
	return freed
}

// sweepBlock frees up to want full keys of a block last accessed at or before
// cutoff, and raises the block's hint.
func (t *Table) sweepBlock(b uint32, now clock.Time, cutoff int64, want int) (freed int) {
	t.hints[b].Store(scanning)
	earliest := int64(noKeys)
	for i, to := t.block(b); i < to; i++ {
		w, ok := t.candidate(i, now)
		if !ok {
			earliest = min(earliest, t.banOver(w, now))
			continue
		}
		if freed == want || w.s.seen.Load() > cutoff {
			earliest = unknown // not looked at
			continue
		}
		wait, _, ok := t.owes(w, now)
		if !ok {
			continue
		}
		if wait == 0 && t.drop(w, now) {
			if freed++; freed == want && cutoff < math.MaxInt64 {
				earliest = unknown
				break
			}
			continue
		}
		earliest = min(earliest, int64(now)+wait)
	}
	lower(&t.hints[b], earliest)
	return freed
}

// candidate returns slot i if it holds a key that may be evicted at now: one that is
// neither pinned nor banned.
func (t *Table) candidate(i uint32, now clock.Time) (place, bool) {
	s := t.slot(i)
	m := s.load()
	w := place{i, s, m}
	return w, m.visible() && !m.pinned() && !(m.barred() && t.banned(w, now))
}

// owes returns how many nanoseconds after at the key will be full, 0 if it is.
// at is now on the key's axis: a caller whose clock is behind finds nobody more in
// debt for it. It reports false when the slot lost the key.
func (t *Table) owes(w place, now clock.Time) (wait int64, at clock.Time, ok bool) {
	p := t.policy(w.s.ident.Load())
	if p == nil {
		return 0, now, false
	}
	o := bucket.OriginOf(w.m.inc())
	for {
		seen := clock.Time(w.s.seen.Load())
		at, wait = t.axisOf(w, seen, now), 0
		// A word that nobody touched for years must be read as rebase would leave it.
		idle := !bucket.SameEra(at, seen)
		for _, k := range p.plan.Load().Active {
			raw, plan := loadWord(t.word(w.i, k), p)
			if plan.Limits[k].Capacity() == 0 {
				continue // not in force any more
			}
			l, cur := t.read(w, plan, k, raw, seen)
			if idle && cur == raw { // a word that was converted is as of the change
				c := t.state(w, k, l, raw)
				cur = l.Renew(cur, &c, seen, at)
			}
			wait = max(wait, l.Owes(cur, o, at))
		}
		// As in rebase: the words were read before seen moved, or once more.
		if !idle || w.s.seen.Load() == int64(seen) {
			return wait, at, w.s.load().same(w.m)
		}
	}
}

// raiseFloor notes, before a key is evicted from slot i, the time at which it was
// found full. A caller of that key with an older time, who now brings it in
// again, is served at this time: dated back, its take would have been refilled
// already, and the same tokens would pass twice.
func (t *Table) raiseFloor(i uint32, at clock.Time) {
	f := &t.floors[i/t.shardSlots]
	for {
		now := f.Load()
		if now >= int64(at) || f.CompareAndSwap(now, int64(at)) {
			return
		}
	}
}

func (t *Table) floorOf(i uint32) clock.Time {
	return clock.Time(t.floors[i/t.shardSlots].Load())
}

// drop evicts a key that is full. It announces that first and looks again
// afterwards: a taker that charged the key before this look is seen by it; one
// that charges it later finds the slot closing and reopens it, so that the last
// swap fails, or finds the key gone and has taken nothing. A slot that another
// evictor is closing is taken over, in a round of its own, so that nobody waits
// for one that stalls.
func (t *Table) drop(w place, now clock.Time) bool {
	closed := w.m.closed()
	if !w.s.swap(w.m, closed) {
		return false
	}
	wait, at, ok := t.owes(place{w.i, w.s, closed}, now)
	if !ok || wait > 0 {
		w.s.swap(closed, closed.with(live))
		return false
	}
	t.raiseFloor(w.i, at)
	if !w.s.swap(closed, closed.emptied()) {
		return false
	}
	t.freed()
	t.stats.idle.Add(1)
	return true
}

// freed counts a key that is gone.
func (t *Table) freed() {
	t.published.Add(-1)
	t.unreserve()
}

// unreserve gives back room.
func (t *Table) unreserve() {
	if n := t.keys.Add(-1); invariants.Enabled && n < 0 {
		panic("shard: more slots freed than taken")
	}
}
