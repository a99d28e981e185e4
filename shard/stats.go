package shard

import "sync/atomic"

// tableStats are counted off the fast path only.
type tableStats struct {
	missed atomic.Uint64
	idle   atomic.Uint64
	forced atomic.Uint64
	kept   atomic.Uint64
}

// Stats is a table's counters. They are read one after the other while others
// count, so they need not add up exactly.
type Stats struct {
	Keys   int
	Missed uint64 // takes whose key was not there
	Idle   uint64 // evictions of full keys, which forgive nothing
	Forced uint64 // evictions of keys that owed
	Kept   uint64 // times that what was taken could not be put back (uncharge)
}

// Stats reads the counters.
func (t *Table) Stats() Stats {
	return Stats{
		Keys:   t.Len(),
		Missed: t.stats.missed.Load(),
		Idle:   t.stats.idle.Load(),
		Forced: t.stats.forced.Load(),
		Kept:   t.stats.kept.Load(),
	}
}
