package bucket

import "sync/atomic"

// Kind is the way a limit counts.
type Kind uint8

// The kinds. A counter that goes up by the cost and decays at a constant rate, as
// some venues describe theirs, is a token bucket seen from the other end.
const (
	TokenBucket Kind = iota // refills steadily
	Aligned                 // windows at whole multiples of their length of wall time
	FromFirst               // windows that begin with their first event
	Rolling                 // every span of the window's length
)

// Cell is where one limit of one key keeps its state, for the functions that
// serve limits of every kind. Those of a token bucket and of a window are pure
// functions of the word; a rolling limit has a ring beside it.
type Cell struct {
	Word   *atomic.Uint64
	Origin Origin
	Ring   Ring // empty but for Rolling
	Owner  uint64
}

// holds reports whether w is still the word of the cell. A change of the policy that
// leaves the ring alone flips the parity and nothing else.
func (c *Cell) holds(w uint64) bool { return (c.Word.Load()^w)&^parityBit == 0 }

// Outcome is what became of an attempt to take.
type Outcome uint8

// The outcomes of [Limit.Try].
const (
	Fits  Outcome = iota // the next word is to be swapped in
	Short                // the tokens are not there
	Stale                // the word moved meanwhile: load it again
)
