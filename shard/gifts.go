package shard

import (
	"math"
	"runtime"
	"sync/atomic"
)

// gifts is the word under which a key's tokens are given back, one gift at a time.
//
//	 63                                          1   0
//	┌─────────────────────────────────────────────┬──────┐
//	│ all that was ever given back, ns of refill  │ busy │
//	└─────────────────────────────────────────────┴──────┘
//
// How much may be given back depends on what was given back before, and on the
// time of the latest take that a word has in it; and a word that a gift and a take
// changed in turn may be the same number again. So whoever lowers a word makes
// the key busy first. While it is busy only takes change the words, upwards, and a
// word that is still the same number has no take in it that was not there before.
//
// Takes never look at the busy bit. A gift that finds it set tries a bounded number
// of times and then gives nothing: the key is denied more than it need be, never
// admitted more. The holder runs some twenty instructions, so that takes one that
// was descheduled in the middle of them.
type gifts struct{ w atomic.Uint64 }

const (
	busy = 1

	// rollbackTries bounds what a decision does to put back what it took; it cannot
	// let others run.
	rollbackTries = 64

	// giftTries is for everybody else, who goes on afterwards (busyWith).
	giftTries = 1 << 14
)

// sum returns what the word w says was given back so far, ns, modulo 2^63: 292 years of
// refill, which a slow limit of many tokens gives back in some hundred refunds.
func sum(w uint64) int64 { return int64(w >> 1) }

// gave returns what was given back from one sum to a later one.
func gave(from, to int64) int64 { return (to - from) & math.MaxInt64 }

// begin makes the key busy and returns what was given back so far. It reports
// false if somebody else kept it busy.
func (g *gifts) begin(tries int) (given int64, ok bool) {
	for i := range tries {
		w := g.w.Load()
		if w&busy == 0 && g.w.CompareAndSwap(w, w|busy) {
			return int64(w >> 1), true
		}
		if i > rollbackTries {
			runtime.Gosched()
		}
	}
	return 0, false
}

// end counts a gift and lets the next one begin.
func (g *gifts) end(given, more int64) { g.w.Store(uint64(given+more) << 1) }
