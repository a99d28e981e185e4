package bucket

import (
	"sync/atomic"
	"unsafe"

	"github.com/tickgate/tickgate/clock"
)

// Rings is the memory of the rings of one rolling limit, one for each slot of a
// table. Whoever makes it sees to it that it is zeroed and stays.
type Rings struct {
	Base  unsafe.Pointer
	Slots int
	words uintptr
	group uint8
	lease bool
}

// RingWords returns how many 8-byte words a ring of l takes, 0 if it needs none.
func (l *Limit) RingWords() int {
	if l.budget.mode == OnLease {
		return 2 // the second tells until when the lease is good
	}
	if l.kind != Rolling {
		return 0
	}
	return int(l.roll.mask) + 2
}

// NewRings returns the rings in memory of slots·RingWords words.
func (l *Limit) NewRings(base unsafe.Pointer, slots int) *Rings {
	return &Rings{Base: base, Slots: slots, words: uintptr(l.RingWords()), group: l.roll.group, lease: l.budget.mode == OnLease}
}

// WithRings returns l on the rings, which may have been made for another limit if
// [Rings.Serve] says so.
func (l Limit) WithRings(r *Rings) Limit {
	l.rings = r
	l.roll.mask = uint64(r.words) - 2
	return l
}

// Rings returns what [Limit.WithRings] set.
func (l *Limit) Rings() *Rings { return l.rings }

// Serve reports whether the rings can serve l as they are: then a change to l
// leaves them alone.
func (r *Rings) Serve(l *Limit) bool {
	return r != nil && l.RingWords() > 0 && r.lease == (l.budget.mode == OnLease) && r.group == l.roll.group && r.words >= uintptr(l.RingWords())
}

// Ring is the ring of one key.
type Ring struct{ base unsafe.Pointer }

// Ring returns the ring of slot i, which is below Slots: it comes from the table.
func (l *Limit) Ring(i uint32) Ring {
	if l.rings == nil {
		return Ring{}
	}
	return Ring{unsafe.Add(l.rings.Base, uintptr(i)*l.rings.words*8)}
}

// word returns a word of the ring: 0 is its base, the entries follow.
func (r Ring) word(k uint64) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Add(r.base, uintptr(k)*8))
}

// base says what is written in the ring.
//
//	 63       48 47                     12 11       0
//	┌───────────┬─────────────────────────┬──────────┐
//	│ owner     │ tokens written          │ voids    │
//	└───────────┴─────────────────────────┴──────────┘
//
// owner is the incarnation of the slot: whoever stalled over a re-use must not
// write into another key's ring. voids tells how far back the newest entry lies of
// which tokens were given back, 1 for the one being filled; 0 if there is none in
// the ring.
type base uint64

const (
	voidsMask = 1<<12 - 1
	tokenMask = 1<<36 - 1

	// wrapAt is where the number of tokens goes back by wrapBy, a multiple of every
	// number of tokens in a ring, so that it stays large: a small number says that
	// the ring was not gone round yet.
	wrapAt = 1 << 35
	wrapBy = 1 << 34
)

func newBase(owner, tokens, voids uint64) base {
	if tokens >= wrapAt {
		tokens -= wrapBy
	}
	return base(owner<<48 | tokens<<12 | voids)
}

func (b base) tokens() uint64 { return uint64(b) >> 12 & tokenMask }
func (b base) voids() uint64  { return uint64(b) & voidsMask }
func (b base) owned(c *Cell) bool {
	return uint64(b)>>48 == c.Owner&(1<<16-1)
}

// entry is a group of tokens: when the last of them was taken, and how many of
// them were given back.
//
//	 63                          g+1          0
//	┌───────────────────────────┬──────────────┐
//	│ time, 2^g ns              │ voids, g+1   │
//	└───────────────────────────┴──────────────┘
type entry uint64

func (r *rolling) entry(at int64, voids int64) entry {
	return entry(uint64(at)<<((r.group+1)&63) | uint64(voids))
}

// same reports whether e is of the time at, in quanta.
func (e entry) same(r *rolling, at int64) bool {
	return uint64(e)>>((r.group+1)&63) == uint64(r.entry(at, 0))>>((r.group+1)&63)
}

// time is when the entry's last token was taken, the time nearest to now that it can
// mean: at most half of 2^63 ns away.
func (e entry) time(r *rolling, now clock.Time) clock.Time {
	g := (r.group + 1) & 63
	q := int64(now) >> (r.group & 63)
	return clock.Time((q + int64(uint64(e)-uint64(q)<<g)>>g) << (r.group & 63))
}

func (e entry) voids(r *rolling) int64 {
	return int64(uint64(e) & (1<<((r.group+1)&63) - 1))
}

// marked returns e with more voids.
func (e entry) marked(more int64) entry { return e + entry(more) }

// at returns the entry of a group.
func (g Ring) at(r *rolling, group uint64) entry {
	return entry(g.word(1 + group&r.mask).Load())
}

// Open makes the ring that of a new key, in which nothing was counted. Only the
// slot's inserter, or a change that has the slot pinned, may call it, before the
// word is published.
func (c *Cell) Open() { c.Ring.word(0).Store(uint64(newBase(c.Owner&(1<<16-1), 0, 0))) }

// complete writes into the ring what the take that left the word says, which t is,
// unless that was done, and returns the ring's base. It reports false if the word
// is not the cell's any more.
//
// Any number of goroutines may do this at once; all write the same. A swap of an
// entry is prepared while the word is still the same, hence before the take is complete
// for all: if it is complete by the time of the swap, the entry is another number,
// because the time in an entry only grows. The swap of the base is the same: its
// number of tokens does not come back within 2^34 tokens.
func (l *Limit) complete(t taken, c *Cell) (base, bool) {
	r := &l.roll
	for {
		b := base(c.Ring.word(0).Load())
		s := b.tokens()
		more := (t.n - s) & r.countMask()
		if more == 0 && b.owned(c) {
			return b, true
		}
		if !c.holds() || !b.owned(c) {
			return 0, false
		}
		g := r.group & 63
		for group, last := s>>g, (s+more-1)>>g; group <= last; group++ {
			if !l.date(t.at, c, s, group) {
				return 0, false
			}
		}
		next := newBase(c.Owner&(1<<16-1), s+more, r.age(b.voids(), s, s+more))
		if c.Ring.word(0).CompareAndSwap(uint64(b), uint64(next)) {
			return next, true
		}
	}
}

// date writes the time of the last take, which began with token s, into the entry
// of a group. A group that already had tokens keeps its voids. It reports false if
// the word moved.
func (l *Limit) date(at int64, c *Cell, s, group uint64) bool {
	r := &l.roll
	cell := c.Ring.word(1 + group&r.mask)
	partly := group == s>>(r.group&63) && s&(1<<(r.group&63)-1) != 0
	for {
		old := entry(cell.Load())
		if !c.holds() {
			return false
		}
		voids := int64(0)
		if partly {
			voids = old.voids(r)
		}
		next := r.entry(at, voids)
		if old == next {
			return true
		}
		// Written, and something of it given back since? That comes after the base.
		if old.same(r, at) && base(c.Ring.word(0).Load()).tokens() != s {
			return true
		}
		if cell.CompareAndSwap(uint64(old), uint64(next)) {
			return true
		}
	}
}

// age is the distance of the newest void after more tokens were written.
func (r *rolling) age(voids, from, to uint64) uint64 {
	if voids == 0 {
		return 0
	}
	if voids += to>>r.group - from>>r.group; voids > r.mask+1 {
		return 0 // it is out of the ring
	}
	return voids
}
