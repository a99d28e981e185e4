package shard

import (
	"math"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Synced is the admission that a venue's count answers.
type Synced struct {
	At    clock.Time // when it was decided
	Slot  uint64     // Result.Slot: another key's is refused
	Gen   uint32     // of the plan
	Marks *Marks
}

// SyncUsed corrects the limit named by a venue's count: used tokens, up to and
// including the admission s. What was admitted since is not in it, and stays
// counted. It reports whether the count was used: not for another key's admission,
// one from a window that is over, one older than an admission whose count was used,
// or one that crossed another correction.
//
// A take remembers what was used after it, less all that had been corrected before:
// by venues' counts, refunds, credits and rollbacks. The same difference now, less
// that, is what was admitted or charged since, whatever came in between. (Of a token
// bucket, less what time refilled, as it has at the venue.)
func (h *Pin) SyncUsed(now clock.Time, s Synced, limit string, used int64) bool {
	if s.Slot != h.w.id() || used < 0 {
		return false
	}
	at := h.at(now)
	c := h.t.cold(h.w.i)
	given, ns := c.busyWith(), int64(0)
	// One more than was given: a take that read the sum before notices.
	defer func() { c.gifts.end(given, ns+1) }()
	plan := h.p.plan.Load()
	k := plan.Index(limit)
	if k < 0 || !plan.Had(k, s.Gen) {
		return false
	}
	l := &plan.Limits[k]
	raw := h.t.word(h.w.i, k).Load()
	cell := h.t.state(h.w, k, l, raw)
	if bucket.Parity(raw) != plan.Parity() || !l.Covers(raw, &cell, s.At, at) || !c.newer(h.w.m, k, &s) {
		return false
	}
	before := l.SpentWhole(raw, &cell, at)
	since := int64(int32(uint32(before) - c.corrected[k].Load() - s.Marks[k].Used))
	by := most(used, since) - before
	switch {
	case by > 0:
		added, ok := h.charge(k, at, by)
		if !ok {
			return false
		}
		h.t.correct(h.w, k, added)
		h.chargeBudgets(plan, k, at, added)
	case by < 0 && l.Capacity() <= math.MaxInt32: // a mark has 32 bits
		// What the venue did not count may be what time has given back meanwhile.
		ns = h.relieve(k, s.At, at, -by-l.Expired(raw, &cell, s.At, at))
	}
	return true
}

// most is a + b for a ≥ 0, or as much as a limit can be told to have used.
func most(a, b int64) int64 { return max(0, min(a, math.MaxInt64/2)+b) }

// newer notes that the count as of an admission of m's incarnation was used for limit
// k, unless that of a later one was: later by its time, or at one time by what was used
// after it. The key is busy.
func (c *cold) newer(m meta, k int, s *Synced) bool {
	if id := m.inc() + 1; c.syncedInc.Load() != id {
		for i := range c.syncedAt {
			c.syncedAt[i].Store(math.MinInt64)
		}
		c.syncedInc.Store(id)
	}
	at, mark := clock.Time(c.syncedAt[k].Load()), c.synced[k].Load()
	if s.At < at || s.At == at && at > math.MinInt64 && int32(s.Marks[k].Used-mark) < 0 {
		return false
	}
	c.syncedAt[k].Store(int64(s.At))
	c.synced[k].Store(s.Marks[k].Used)
	return true
}

// Mark returns the mark of a take of n tokens from the only limit l that left word.
func (h *Pin) Mark(l *bucket.Limit, word uint64, at clock.Time, n int64) Mark {
	used := l.UsedTokens(word, bucket.OriginOf(h.w.m.inc()), at)
	return Mark{Used: uint32(used) - h.t.cold(h.w.i).corrected[0].Load(), Cost: saturate(n)}
}

// relieve gives n tokens back that a venue did not count, of what was used at the
// time since, and returns what that was in nanoseconds of refill. The key is busy.
func (h *Pin) relieve(k int, since, at clock.Time, n int64) int64 {
	plan := h.p.plan.Load()
	if n <= 0 {
		return 0
	}
	if plan.Limits[k].Kind() != bucket.TokenBucket {
		_, ns := h.credit(k, at, n)
		return ns
	}
	return h.t.giveBack(h.w, h.p, k, plan, gift{n: n, charged: bucket.Charged{At: since}, alone: true}, h.t.clock)
}
