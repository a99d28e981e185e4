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
	Budget                  // what is shared with others, and not settled with them yet
)

// Cell is where one limit of one key keeps its state, for the functions that
// serve limits of every kind. Those of a token bucket and of a window are pure
// functions of the word; a rolling limit has a ring beside it.
type Cell struct {
	Word   *atomic.Uint64
	Raw    uint64 // the word as it was loaded, perhaps of the generation before
	Origin Origin
	Ring   Ring // empty but for Rolling
	Owner  uint64
}

// holds reports whether the word is still what was loaded.
func (c *Cell) holds() bool { return c.Word.Load() == c.Raw }

// Outcome is what became of an attempt to take.
type Outcome uint8

// The outcomes of [Limit.Try].
const (
	Fits  Outcome = iota // the next word is to be swapped in
	Short                // the tokens are not there
	Stale                // the word moved meanwhile: load it again
)
