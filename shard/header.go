package shard

import "sync/atomic"

// header is the word through which all inserts of keys with one home group
// become visible, one at a time.
//
//	 63          44 43          24 23         12 11          0
//	┌──────────────┬──────────────┬─────────────┬─────────────┐
//	│ version 20   │ incarn. 20   │ pending 12  │ reach 12    │
//	└──────────────┴──────────────┴─────────────┴─────────────┘
//
// version grows with every change, so that an insert whose look around the group
// is out of date cannot succeed. pending is the slot being published, as its
// distance from the group's first slot plus one, 0 if none, and incarnation the
// low bits of that slot's. reach is how far from the group's first slot its keys
// may lie; it only grows, so a look-up never stops short.
//
// Both counters wrap. An inserter would have to stall for exactly a multiple of
// 2^19 inserts into its group, two changes each, that end with the same slot's
// same incarnation, a helper for 2^20 re-uses of one slot during which nobody inserts into its group.
type header uint64

const (
	pendingShift = 12
	pendingInc   = 24
	versionShift = 44
	fieldMask    = 1<<12 - 1
	incField     = header(1<<20-1) << pendingInc
)

func (h header) pending() uint32 { return uint32(h>>pendingShift) & fieldMask }
func (h header) reach() uint32   { return uint32(h) & fieldMask }

// announces reports whether h announces the slot's incarnation that m shows.
func (h header) announces(m meta) bool {
	return (uint64(h)>>pendingInc^m.inc())&(1<<20-1) == 0
}

// announce is h with the slot of meta m pending, at distance d from the group's
// first slot.
func (h header) announce(d uint32, m meta) header {
	return h.next() | header(m.inc())<<pendingInc&incField |
		header(d+1)<<pendingShift | header(max(h.reach(), d+1))
}

// settled is h with nothing pending.
func (h header) settled() header {
	return h.next() | h&incField | header(h.reach())
}

// next is the version after h's, alone.
func (h header) next() header { return (h>>versionShift + 1) << versionShift }

func loadHeader(p *atomic.Uint64) header { return header(p.Load()) }

func swapHeader(p *atomic.Uint64, from, to header) bool {
	return p.CompareAndSwap(uint64(from), uint64(to))
}

// help completes the publication that h announces, if any, and returns the
// header to go on with. Anybody may call it, any number of times.
//
// Only the announced incarnation of the slot is published. A helper that comes
// late, when the slot was given up since and is being written by the inserter of
// another key, sees another incarnation and leaves it alone.
func (t *Table) help(g *group, h header) header {
	for h.pending() != 0 {
		s := t.slot(g.at(h.pending() - 1))
		if m := s.load(); m.state() == private && h.announces(m) {
			s.swap(m, m.with(live))
		}
		swapHeader(g.header, h, h.settled())
		h = loadHeader(g.header)
	}
	return h
}
