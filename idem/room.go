package idem

import (
	"sync/atomic"

	"github.com/tickgate/tickgate/clock"
)

// addUpTo adds n to *c unless that would make it more than most.
func addUpTo(c *atomic.Int64, n, most int64) bool {
	for {
		old := c.Load()
		if n > most-old {
			return false
		}
		// The swap is where the room is taken; a loser looks again at what is left.
		if c.CompareAndSwap(old, old+n) {
			return true
		}
	}
}

// valueBytes is what a value takes beyond what is reckoned with every record.
func valueBytes(value []byte) int64 { return int64(max(cap(value)-RoomyResult, 0)) }

// reserve takes room for one more record.
func (m *Memory) reserve() bool {
	if !addUpTo(&m.records, 1, m.maxRecords) {
		return false
	}
	if !addUpTo(&m.bytes, RecordBytes+RoomyResult, m.maxBytes) {
		m.records.Add(-1)
		return false
	}
	return true
}

// shrinkValue takes the value off a record and gives its bytes back.
func (m *Memory) shrinkValue(r *record) {
	m.bytes.Add(-valueBytes(r.value))
	r.value = nil
}

// drop takes r, of sh, whose mutex is held, out of the memory.
func (m *Memory) drop(sh *memoryShard, r *record) {
	m.shrinkValue(r)
	sh.remove(r)
	m.bytes.Add(-(RecordBytes + RoomyResult))
	m.records.Add(-1)
}

// sweep drops up to most expired records of sh, whose mutex is held.
func (m *Memory) sweep(sh *memoryShard, now clock.Time, most int) (dropped int) {
	for dropped < most && len(sh.order) > 0 && sh.order[0].dropAt <= now {
		m.drop(sh, sh.order[0])
		dropped++
	}
	return dropped
}

// sweepPassing drops a few expired records of the shard whose turn it is, unless
// somebody is at work there: a shard that nobody asks for is swept all the same.
func (m *Memory) sweepPassing() {
	sh := &m.shards[m.hand.Add(1)&uint32(len(m.shards)-1)]
	now := m.clock.Now()
	if sh.next.Load() > int64(now) || !sh.mu.TryLock() {
		return
	}
	defer sh.mu.Unlock()
	m.sweep(sh, now, sweepInPassing)
}

// makeRoom drops expired records of the first shards that have any. It reports
// false if none has, as far as it saw.
func (m *Memory) makeRoom() bool {
	now := m.clock.Now()
	first := m.hand.Load()
	for i := range uint32(len(m.shards)) {
		sh := &m.shards[(first+i)&uint32(len(m.shards)-1)]
		if sh.next.Load() <= int64(now) && m.sweepShard(sh, now) > 0 {
			return true
		}
	}
	return false
}

// sweepShard drops up to a batch of sh's expired records.
func (m *Memory) sweepShard(sh *memoryShard, now clock.Time) int {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return m.sweep(sh, now, sweepBatch)
}

// Sweep drops every record that has expired and returns how many they were. It
// holds one shard's mutex at a time, for 64 records at most.
func (m *Memory) Sweep() (dropped int) {
	now := m.clock.Now()
	for i := range m.shards {
		for sh := &m.shards[i]; sh.next.Load() <= int64(now); {
			n := m.sweepShard(sh, now)
			if dropped += n; n == 0 {
				break
			}
		}
	}
	return dropped
}
