package shard

import "sync/atomic"

// header is the word through which all inserts of keys with one home group
// become visible, one at a time.
//
//	 63                 24 23         12 11          0
//	┌─────────────────────┬─────────────┬─────────────┐
//	│ version 40          │ pending 12  │ reach 12    │
//	└─────────────────────┴─────────────┴─────────────┘
//
// version grows with every change, so that an insert whose look around the group
// is out of date cannot succeed. pending is the slot being published, as its
// distance from the group's first slot plus one, 0 if none. reach is how far
// from the group's first slot its keys may lie; it only grows, so a look-up
// never stops short.
type header uint64

const (
	pendingShift = 12
	versionShift = 24
	fieldMask    = 1<<12 - 1
)

func (h header) pending() uint32 { return uint32(h>>pendingShift) & fieldMask }
func (h header) reach() uint32   { return uint32(h) & fieldMask }

// announce is h with a slot pending at distance d from the group's first slot.
func (h header) announce(d uint32) header {
	return (h>>versionShift+1)<<versionShift |
		header(d+1)<<pendingShift | header(max(h.reach(), d+1))
}

// settled is h with nothing pending.
func (h header) settled() header {
	return (h>>versionShift+1)<<versionShift | header(h.reach())
}

func loadHeader(p *atomic.Uint64) header { return header(p.Load()) }

func swapHeader(p *atomic.Uint64, from, to header) bool {
	return p.CompareAndSwap(uint64(from), uint64(to))
}

// help completes the publication that h announces, if any, and returns the
// header to go on with. Anybody may call it, any number of times.
func (t *Table) help(g group, h header) header {
	for h.pending() != 0 {
		s := t.slot(g.at(h.pending() - 1))
		m := s.load()
		// The slot's meta is looked at only once the header still announces it:
		// then m is from before the completion, and if the slot has gone on since,
		// the swap below fails. Without this second look a late helper could
		// publish a later inserter's half-written slot.
		if now := loadHeader(g.header); now != h {
			h = now
			continue
		}
		if m.state() == private {
			s.swap(m, m.with(live))
		}
		swapHeader(g.header, h, h.settled())
		h = loadHeader(g.header)
	}
	return h
}
