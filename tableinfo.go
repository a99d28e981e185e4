package tickgate

import "runtime"

// TableInfo is how a gate's keys lie in memory.
type TableInfo struct {
	Slots   int   // places for keys, two or more for each of MaxKeys
	Shards  []int // keys in each shard
	Bytes   int64 // of the slots
	OffHeap bool  // outside the Go heap
	Huge    bool  // huge pages were asked for, and the system took the advice
}

// Table tells how keys lie in memory. It looks at every slot, in about a nanosecond each;
// no decision waits for it.
func (g *Gate) Table() TableInfo {
	p := g.table.Pages()
	info := TableInfo{
		Slots: g.table.Slots(), Shards: g.table.Occupancy(),
		Bytes: int64(p.Bytes), OffHeap: p.OffHeap, Huge: p.Huge,
	}
	runtime.KeepAlive(g)
	return info
}

// Blocked reports whether everyone is blocked ([Gate.Block] of "").
func (g *Gate) Blocked() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.blocked
}
