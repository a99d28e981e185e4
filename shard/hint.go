package shard

import (
	"math"
	"sync/atomic"

	"github.com/tickgate/tickgate/clock"
)

// A hint is a time before which no unpinned key of a block of slots is full, on
// the axis of the callers that evict, from whose time the waits are counted. It
// lets an evictor pass over the blocks in which everybody owes, so that a
// full key is found wherever it is, without looking at every slot each time.
//
// Whatever makes a key full earlier lowers its block's hint (atomic minimum),
// after the key shows it. Only a scan raises it: it sets scanning first, looks at
// every slot, and then lowers the hint to the earliest time it found. A key that
// changed before the scan began is seen by it; one that changes later lowers
// the hint afterwards. A taker only makes a key full later, so it does not care.
const (
	scanning = math.MaxInt64     // being scanned: may hold a full key
	noKeys   = math.MaxInt64 - 1 // nothing to evict
	unknown  = math.MinInt64     // may hold a full key
)

func lower(h *atomic.Int64, to int64) {
	for {
		at := h.Load()
		if at <= to || h.CompareAndSwap(at, to) {
			return
		}
	}
}

// mayBeFull notes that the key in slot i may be full from at on.
func (t *Table) mayBeFull(i uint32, at clock.Time) {
	lower(&t.hints[i/blockSlots], int64(at))
}

// worthScanning reports whether the block may hold a full key at now.
func (t *Table) worthScanning(block uint32, now clock.Time) bool {
	h := t.hints[block].Load()
	return h == scanning || h <= int64(now)
}

// block returns the first slot of a block and the one after its last.
func (t *Table) block(b uint32) (from, to uint32) {
	return b * blockSlots, min((b+1)*blockSlots, t.slots)
}

// forgetHints makes every block worth scanning.
func (t *Table) forgetHints() {
	for b := range t.hints {
		t.hints[b].Store(unknown)
	}
}
