package shard

import (
	"sync/atomic"
	"unsafe"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/internal/invariants"
)

const (
	slotSize   = 64
	coldSize   = 256
	inlineKey  = 24                    // key bytes in the slot
	extSize    = 2*maxName - inlineKey // key bytes outside it, at most
	maxName    = 256                   // of an apikey, and of an endpoint
	hotWords   = 2                     // words in the slot; the others are cold
	groupSlots = 8                     // home positions that share a header
	blockSlots = 256                   // slots that share a hint
)

// slot is the line a decision works on.
//
// Who writes what: meta as its comment says. ident, key and, before
// publication, words and seen: the one inserter that owns the private slot;
// publishing meta publishes them. words: takers, by compare-and-swap. seen:
// takers, upwards only. Readers may hold a slot that is being re-used, so
// every field is atomic, and what was read counts only once meta still shows
// the incarnation it showed before.
type slot struct {
	meta  atomic.Uint64
	ident atomic.Uint64
	words [hotWords]atomic.Uint64
	seen  atomic.Int64 // newest effective time of a caller, ns; up to grain behind
	key   [inlineKey / 8]atomic.Uint64
}

// cold is what few keys need. Its memory is reserved at New and taken by the
// system when it is first written.
type cold struct {
	words    [bucket.MaxLimits - hotWords]atomic.Uint64
	gifts    gifts
	shift    atomic.Int64  // how far the key's time is ahead of its callers', ns
	shiftInc atomic.Uint64 // the incarnation that shift belongs to, plus one
	seq      atomic.Uint64 // admissions that were counted (seq.go)
	bars     atomic.Uint64 // why the key is barred (bars.go)
	ban      atomic.Int64  // until when it is banned

	// By limit: what corrected the tokens used in sum, beside admissions and charges,
	// modulo 2^32; and the newest admission that a venue's count was used of, by its
	// time and mark, of the incarnation that is one less than syncedInc (sync.go).
	corrected [bucket.MaxLimits]atomic.Uint32
	syncedInc atomic.Uint64
	syncedAt  [bucket.MaxLimits]atomic.Int64
	synced    [bucket.MaxLimits]atomic.Uint32

	_ [24]byte
}

// ext is the rest of a long key.
type ext [extSize / 8]atomic.Uint64

// Sizes and offsets are part of the design: a slot is one cache line.
var (
	_ [slotSize - unsafe.Sizeof(slot{})]struct{}
	_ [unsafe.Sizeof(slot{}) - slotSize]struct{}
	_ [coldSize - unsafe.Sizeof(cold{})]struct{}
	_ [unsafe.Sizeof(cold{}) - coldSize]struct{}
	_ [extSize - unsafe.Sizeof(ext{})]struct{}
)

func (s *slot) load() meta { return meta(s.meta.Load()) }

func (s *slot) swap(from, to meta) bool {
	return s.meta.CompareAndSwap(uint64(from), uint64(to))
}

// slot returns slot i. i is below t.slots: it comes from the table's own
// arithmetic, never from a caller.
func (t *Table) slot(i uint32) *slot {
	if invariants.Enabled && i >= t.slots {
		panic("shard: slot outside the table")
	}
	return (*slot)(unsafe.Add(t.hot, uintptr(i)*slotSize))
}

// cold returns the cold line of slot i.
func (t *Table) cold(i uint32) *cold {
	return (*cold)(unsafe.Add(t.far, uintptr(i)*coldSize))
}

// ext returns the long-key bytes of slot i.
func (t *Table) ext(i uint32) *ext {
	return (*ext)(unsafe.Add(t.tail, uintptr(i)*extSize))
}

// state returns where limit l keeps its state, as word k, for the key at w, and
// the word as it was loaded.
func (t *Table) state(w place, k int, l *bucket.Limit, raw uint64) (c bucket.Cell) {
	t.locate(&c, w, k, l, raw)
	return c
}

// locate is state in place: copying the cell right after it was written stalls for as
// long as a swap takes.
func (t *Table) locate(c *bucket.Cell, w place, k int, l *bucket.Limit, raw uint64) {
	c.Word, c.Raw = t.word(w.i, k), raw
	c.Origin, c.Owner = bucket.OriginOf(w.m.inc()), w.m.inc()
	c.Ring = l.Ring(w.i)
}

// word returns word k of slot i.
func (t *Table) word(i uint32, k int) *atomic.Uint64 {
	if k < hotWords {
		return &t.slot(i).words[k]
	}
	return &t.cold(i).words[k-hotWords]
}
