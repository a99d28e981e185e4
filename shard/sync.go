package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Synced is the admission that a venue's count answers.
type Synced struct {
	At     clock.Time // when it was decided
	Slot   uint64     // Result.Slot: another key's is refused
	Gen    uint32     // of the plan
	Marks  *Marks
	Window int64 // Result.Window, if Index is Result.Limit
	Index  int   // the limit that Window is of
}

// SyncUsed corrects the limit named by a venue's count: used tokens, up to and
// including the admission s. What was admitted since is not in it, and stays
// counted. It reports whether the count could be used: not for another key's
// admission, one from a window that is over, or one that crossed another
// correction.
//
// A take remembers what was used after it, less all corrections before it. So the
// same difference now tells what was admitted since, and the correction is
// used − mark − (corrections so far), whatever came in between.
func (h *Pin) SyncUsed(now clock.Time, s Synced, limit string, used int64) bool {
	if s.Slot != h.w.id() || used < 0 {
		return false
	}
	at := h.at(now)
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	// One more than was given: a take that read the sum before notices.
	defer c.gifts.end(given, 1)
	plan := h.p.plan.Load()
	for _, k := range plan.Active {
		if plan.Names[k] != limit {
			continue
		}
		l := &plan.Limits[k]
		raw := h.t.word(h.w.i, k).Load()
		cell := h.t.state(h.w, k, l)
		if !plan.Had(k, s.Gen) || bucket.Parity(raw) != plan.Parity() || !l.Covers(raw, &cell, s.At, at) {
			return false
		}
		used = min(used, 2*l.Capacity())
		by := int64(int32(uint32(used-c.corrected[k].Load()) - s.Marks[k].Used))
		switch {
		case by > 0:
			if !h.charge(k, at, by) {
				return false
			}
		case by < 0:
			by = -h.relieve(k, s.At, at, -by)
		}
		c.corrected[k].Add(by)
		return true
	}
	return false
}

// Mark returns the mark of a take of n tokens from the only limit l that left word.
func (h *Pin) Mark(l *bucket.Limit, word uint64, at clock.Time, n int64) Mark {
	used := l.UsedTokens(word, bucket.OriginOf(h.w.m.inc()), at)
	return Mark{Used: uint32(used - h.t.cold(h.w.i).corrected[0].Load()), Cost: saturate(n)}
}

// relieve gives n tokens back that a venue did not count, of what was used at the
// time since, and returns how many. The key is busy.
func (h *Pin) relieve(k int, since, at clock.Time, n int64) int64 {
	plan := h.p.plan.Load()
	l := &plan.Limits[k]
	if l.Kind() != bucket.TokenBucket {
		before := h.spent(k, at)
		h.credit(k, at, n)
		return max(0, before-h.spent(k, at))
	}
	h.t.giveBack(h.w, h.p, k, plan, gift{n: n, charged: bucket.Charged{At: since}, alone: true}, h.t.clock)
	return n
}

// spent returns the tokens used of limit k.
func (h *Pin) spent(k int, at clock.Time) int64 {
	raw, plan := loadWord(h.t.word(h.w.i, k), h.p)
	l, cur := plan.Read(k, raw, bucket.OriginOf(h.w.m.inc()), at)
	c := h.t.state(h.w, k, l)
	return l.Spent(cur, &c, at)
}
