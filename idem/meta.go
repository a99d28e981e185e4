package idem

// meta is a slot's state word.
//
//	 63             24 23    9 8        2 1     0
//	┌─────────────────┬───────┬──────────┬───────┐
//	│ incarnation 40  │ tag   │ length 7 │ state │
//	└─────────────────┴───────┴──────────┴───────┘
//
// length and tag, 15 bits of the hash, are the id's, so that ids are compared only
// where both agree. incarnation grows whenever the slot loses its id. It makes a
// meta, and what a header announces, differ from every one the slot had before: it
// wraps after 2^40 ids in one slot, and a call would have to sleep through all of
// them, 12 days at one in a microsecond, to be fooled.
//
// Changes: free to private, by the inserter that wins the slot; private to live,
// by it or whoever helps it; private to free, by it; live to free, by whoever
// releases the id or finds it expired. Each but the third, where the slot is the
// inserter's alone, is one compare-and-swap of the whole word.
type meta uint64

// The states of a slot.
const (
	free      = meta(iota) // no id; anybody may claim it
	private                // one inserter writes it; invisible
	live                   // holds an id
	stateMask = meta(3)
)

const (
	lengthShift = 2
	tagShift    = 9
	tagBits     = 15
	incShift    = 24
	incBits     = 40
	descMask    = meta(1)<<incShift - 1 // state, length and tag
)

// metaOf is the first incarnation of a live slot that holds an id of n bytes.
func metaOf(n int, hash uint64) meta {
	return meta(hash)&(1<<tagBits-1)<<tagShift | meta(n)<<lengthShift | live
}

func (m meta) state() meta { return m & stateMask }
func (m meta) inc() uint64 { return uint64(m >> incShift) }

// claimed is m, a free slot, made private for an id whose live meta is like want.
func (m meta) claimed(want meta) meta { return m&^descMask | want&^stateMask | private }

// published is m, a private slot, made live.
func (m meta) published() meta { return m&^stateMask | live }

// emptied is the free slot of the next incarnation.
func (m meta) emptied() meta { return (m>>incShift + 1) << incShift }
