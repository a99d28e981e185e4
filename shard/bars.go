package shard

import (
	"encoding/binary"
	"math"
	"runtime"

	"github.com/tickgate/tickgate/clock"
)

// A key that is blocked or banned has a bit in its meta, which every take looks at
// anyhow, so that keys without one pay nothing. Why it is barred stands in its
// cold line:
//
//	 63                     2    1         0
//	┌───────────────────────┬─────────┬─────────┐
//	│ incarnation           │ banned  │ blocked │     bars
//	└───────────────────────┴─────────┴─────────┘
//
// and until when it is banned in ban. Both are written by whoever made the key busy
// (gifts); the bit is set after them. A take that met the bit decides by what stands
// there.
const (
	blockedBar = 1
	bannedBar  = 2
	barsMask   = 3
)

// barsOf returns why the key at w is barred.
func (c *cold) barsOf(m meta) uint64 {
	if b := c.bars.Load(); b>>2 == m.inc() {
		return b & barsMask
	}
	return 0
}

// bars decides about a call for a barred key, which is served at at and is late by so
// much: Allowed where nothing speaks against it.
func (t *Table) bars(w place, at clock.Time, late int64, urgent bool) Verdict {
	c := t.cold(w.i)
	b := c.barsOf(w.m)
	switch {
	case b&bannedBar != 0 && t.bannedAt(w, at, late):
		return Banned
	case b&blockedBar != 0 && !urgent:
		return Blocked
	case b == bannedBar:
		t.clearBar(w, bannedBar, at)
	}
	return Allowed
}

// bannedAt reports whether a banned key is so still for a caller that is served at at. A
// late caller is served at the time of an earlier one, which may have been ahead of the
// clock by more than a short ban takes: then the clock itself is asked.
func (t *Table) bannedAt(w place, at clock.Time, late int64) bool {
	c := t.cold(w.i)
	switch {
	case c.bannedFor(at) > 0:
		return true
	case c.bannedFor(at-clock.Time(late)) == 0 || t.clock == nil:
		return false
	}
	return c.bannedFor(t.ownTime(w, t.clock.Now())) > 0
}

// bannedFor returns how long a banned key is banned still for a caller at its own time
// now, ns.
func (c *cold) bannedFor(now clock.Time) int64 {
	until := clock.Time(c.ban.Load())
	if until <= now {
		return 0
	}
	return int64(min(uint64(until)-uint64(now), math.MaxInt64))
}

// banned reports whether the key at w is banned for an evictor at now.
func (t *Table) banned(w place, now clock.Time) bool {
	c := t.cold(w.i)
	if c.barsOf(w.m)&bannedBar == 0 {
		return false
	}
	t.axisOf(w, clock.Time(w.s.seen.Load()), now) // from now on its time goes on after a clock was set back
	return c.bannedFor(t.ownTime(w, now)) > 0
}

// banOver returns when the key at w may be evicted as far as its ban goes: at noKeys if
// something else keeps it.
func (t *Table) banOver(w place, now clock.Time) int64 {
	if !w.m.visible() || w.m.pinned() || !w.m.barred() {
		return noKeys
	}
	left := t.cold(w.i).bannedFor(t.ownTime(w, now))
	if left > noKeys-max(0, int64(now)) {
		return noKeys
	}
	return int64(now) + left
}

// busyWith makes the key busy, however long that takes: for calls that are no
// decisions.
func (c *cold) busyWith() (given int64) {
	for {
		if given, ok := c.gifts.begin(giftTries); ok {
			return given
		}
		runtime.Gosched()
	}
}

// setBar bars the key at w.
func (t *Table) setBar(w place, bar uint64) {
	c := t.cold(w.i)
	given := c.busyWith()
	t.writeBars(w, c.barsOf(w.m)|bar)
	c.gifts.end(given, 0)
}

// clearBar ends a bar of the key at w: a ban only if it is over at now.
func (t *Table) clearBar(w place, bar uint64, now clock.Time) {
	c := t.cold(w.i)
	given, ok := c.gifts.begin(rollbackTries)
	if !ok {
		return // the next call does it
	}
	if bar != bannedBar || c.bannedFor(now) == 0 {
		t.writeBars(w, c.barsOf(w.m)&^bar)
	}
	c.gifts.end(given, 0)
}

// writeBars writes why a key is barred, and the bit. The key is busy.
func (t *Table) writeBars(w place, bars uint64) {
	c := t.cold(w.i)
	// Whoever stalls here must not overwrite what the inserter of the next key wrote, which
	// does not wait for it (barPrivate).
	for {
		old := c.bars.Load()
		if !w.s.load().same(w.m) || c.bars.CompareAndSwap(old, w.m.inc()<<2|bars) {
			break
		}
	}
	for {
		m := w.s.load()
		to := m &^ barBit
		if bars != 0 {
			to |= barBit
		}
		if !m.same(w.m) || w.s.swap(m, to) {
			return
		}
	}
}

// Ban denies every call for the key until a time, urgent ones too. The longest ban
// counts. A banned key is not evicted.
func (h *Pin) Ban(until clock.Time) {
	until = h.t.onAxis(h.w, h.p, until)
	c := h.t.cold(h.w.i)
	given := c.busyWith()
	defer c.gifts.end(given, 0)
	if !h.w.s.load().same(h.w.m) {
		return
	}
	b := c.barsOf(h.w.m)
	if b&bannedBar == 0 || clock.Time(c.ban.Load()) < until {
		c.ban.Store(int64(until))
	}
	h.t.writeBars(h.w, b|bannedBar)
}

// BlockAll blocks all calls but urgent ones under a policy, or ends that. It is not
// for concurrent use with itself or Change.
func (p *Policy) BlockAll(blocked bool) {
	p.plan.Store(p.plan.Load().WithBlock(blocked))
}

// Block blocks all calls but urgent ones of an apikey, under every policy, or ends
// that. It walks over all keys. It is not for concurrent use with itself.
//
// The set of blocked apikeys is published first, then every key that is there is
// barred. A key that comes later is barred by its inserter, which looks at the set
// after it claimed its slot; the walk waits for slots that were claimed before.
func (t *Table) Block(apikey string, blocked bool) {
	old := t.blocked.Load()
	next := make(map[string]struct{}, len(*old)+1)
	for k := range *old {
		next[k] = struct{}{}
	}
	delete(next, apikey)
	if blocked {
		next[apikey] = struct{}{}
	}
	t.blocked.Store(&next)
	t.visit(func(w place) {
		if t.hasApikey(w, apikey) {
			if blocked {
				t.setBar(w, blockedBar)
			} else {
				t.unblock(w)
			}
		}
	})
}

func (t *Table) unblock(w place) {
	c := t.cold(w.i)
	given := c.busyWith()
	t.writeBars(w, c.barsOf(w.m)&^blockedBar)
	c.gifts.end(given, 0)
}

// isBlocked reports whether k's apikey is blocked.
func (t *Table) isBlocked(k *Key) bool {
	set := *t.blocked.Load()
	if len(set) == 0 {
		return false
	}
	var buf [maxName]byte
	_, ok := set[string(k.apikey(&buf))]
	return ok
}

// barPrivate bars a slot that its inserter has not published yet, so that it is
// barred from the beginning, and returns its meta.
func (t *Table) barPrivate(w place) meta {
	if !w.m.barred() {
		t.cold(w.i).bars.Store(w.m.inc()<<2 | blockedBar)
		if m := w.m | barBit; w.s.swap(w.m, m) {
			return m
		}
	}
	return w.m
}

// barIfBlocked bars a new key whose apikey was blocked while it was published. It looks again afterwards: a
// walk that unblocks may have passed before the bar was there.
//
// It does not wait for whoever is busy with the slot's former key: such a one overwrites
// nothing (writeBars), and the walk of Block, which waited for the slot while it was private,
// bars it.
func (t *Table) barIfBlocked(w place, k *Key) {
	c := t.cold(w.i)
	for t.isBlocked(k) && c.barsOf(w.m)&blockedBar == 0 {
		given, ok := c.gifts.begin(rollbackTries)
		if !ok {
			return
		}
		t.writeBars(w, c.barsOf(w.m)|blockedBar)
		c.gifts.end(given, 0)
		if t.isBlocked(k) {
			return
		}
		t.unblock(w)
	}
}

// barredName decides about a call for a key that is not in the table.
func (t *Table) barredName(k *Key, a *Ask) Verdict {
	if !a.Urgent && t.isBlocked(k) {
		return Blocked
	}
	return Allowed
}

// apikey returns the apikey of k, in buf.
func (k *Key) apikey(buf *[maxName]byte) []byte {
	n := identApikey(k.ident)
	var head [inlineKey]byte
	binary.LittleEndian.PutUint64(head[0:], k.head.a)
	binary.LittleEndian.PutUint64(head[8:], k.head.b)
	binary.LittleEndian.PutUint64(head[16:], k.head.c)
	m := copy(buf[:n], head[:])
	if m < n {
		copy(buf[m:n], k.tail)
	}
	return buf[:n]
}

// hasApikey reports whether the key at w is one of apikey.
func (t *Table) hasApikey(w place, apikey string) bool {
	n := len(apikey)
	if identApikey(w.s.ident.Load()) != n {
		return false
	}
	var b [maxName + 8]byte
	t.keyBytes(w, b[:], n)
	return string(b[:n]) == apikey
}
