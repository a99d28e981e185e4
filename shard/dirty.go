package shard

import "sync/atomic"

// dirty is the set of slots whose keys used tokens of a budget, or want some, since
// it was last collected: a bit for each slot, and a bit for each 64 of those, so that
// collecting costs nothing for what is not in it.
//
// Takers set bits, one goroutine collects. A taker sets the slot's bit first, then the
// one above; whoever collects clears the one above first, then those below. So a bit
// that was missed has its own above it set afterwards, and is found the next time; one
// that was found may leave its own above it set, which costs a look.
type dirty struct {
	slots  []atomic.Uint64
	above  []atomic.Uint64
	kicked atomic.Bool // some key is about to run out
}

func newDirty(slots uint32) *dirty {
	n := (slots + 63) / 64
	return &dirty{slots: make([]atomic.Uint64, n), above: make([]atomic.Uint64, (n+63)/64)}
}

// add puts slot i into the set. For one that is in it, as a busy key's is but for its
// first take, that is a load.
func (d *dirty) add(i uint32) {
	word, bit := &d.slots[i/64], uint64(1)<<(i%64)
	if word.Load()&bit != 0 {
		return
	}
	word.Or(bit)
	above, upper := &d.above[i/4096], uint64(1)<<(i/64%64)
	if above.Load()&upper == 0 {
		above.Or(upper)
	}
}

// kick says that a key is about to run out.
func (d *dirty) kick() {
	if !d.kicked.Load() {
		d.kicked.Store(true)
	}
}
