package shard

// meta is a slot's state word.
//
//	 63            36 35           16  15   14       2 1     0
//	┌────────────────┬───────────────┬─────┬──────────┬───────┐
//	│ incarnation 28 │ round 20      │ bar │ pins 13  │ state │
//	└────────────────┴───────────────┴─────┴──────────┴───────┘
//
// incarnation grows whenever the slot loses its key, so that a taker can tell a
// re-used slot from its own; it wraps after 2^28 keys in one slot, and a taker
// would have to sleep through all of them inside one decision to be fooled.
// round grows with every closing, so that an evictor's verdict from an earlier
// closing cannot be executed in a later one; it wraps after 2^20 closings of one
// incarnation, likewise. pins counts the handles. bar says that the key is blocked
// or banned (bars.go): it keeps the usual takes out, which look at meta anyhow.
type meta uint64

// The states of a slot.
const (
	free      = meta(iota) // no key; anybody may claim it
	private                // one inserter writes it; invisible
	live                   // visible
	closing                // visible; an evictor looks whether the key is full
	stateMask = meta(3)
)

const (
	pinOne  = meta(1) << 2
	pinMask = meta(1<<13-1) << 2

	// handlePins leaves one pin for a change of the policy, which pins every key
	// while it converts it.
	handlePins = pinMask - pinOne

	barBit = meta(1) << 15

	roundOne  = meta(1) << 16
	roundMask = meta(1<<20-1) << 16

	incShift = 36
	incOne   = meta(1) << incShift
	incMask  = meta(1<<28-1) << incShift
)

func (m meta) state() meta   { return m & stateMask }
func (m meta) visible() bool { return m&2 != 0 } // live or closing
func (m meta) pinned() bool  { return m&pinMask != 0 }
func (m meta) barred() bool  { return m&barBit != 0 }
func (m meta) inc() uint64   { return uint64(m >> incShift) }

// same reports whether m and o belong to one incarnation.
func (m meta) same(o meta) bool { return (m^o)&incMask == 0 }

// open reports whether m is o's incarnation and not barred.
func (m meta) open(o meta) bool { return m&(incMask|barBit) == o&incMask }

// with returns m in another state.
func (m meta) with(state meta) meta { return m&^stateMask | state }

// closed is m in the next closing round.
func (m meta) closed() meta {
	return m&^(roundMask|stateMask) | (m+roundOne)&roundMask | closing
}

// emptied is the free slot of the next incarnation.
func (m meta) emptied() meta { return (m & incMask) + incOne }
