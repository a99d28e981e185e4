package idem

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/clock"
)

const (
	// RecordBytes is what [Memory] reckons a record at, its place in the map and in
	// the order of expiry included. On a 64-bit machine these are 128 bytes, up to 94
	// where the map has just grown, and up to 16.
	RecordBytes = 256

	// RoomyResult is the encoded size up to which a result always fits: it is
	// reckoned with every record from Begin on. A status, a few short headers and a
	// small body take no more.
	RoomyResult = 256
)

const (
	maxRecords = 1 << 30
	maxBytes   = 1 << 50

	// perShard is how many records a shard has on average when the memory is full.
	// It bounds what one holder of a shard's mutex may have to do.
	perShard  = 4096
	minShards = 64

	// sweepInPassing is how many expired records a Begin drops from its own shard
	// and from one other: more than the one it adds, so that they get fewer.
	// sweepBatch is how many may be dropped under one hold of a mutex.
	sweepInPassing = 2
	sweepBatch     = 64
)

// MemoryConfig says what a [Memory] is made of; see [Config], whose fields of the
// same names these are.
type MemoryConfig struct {
	Clock      clock.Clock // nil: clock.Default()
	MaxRecords int         // 0: 100,000
	MaxBytes   int64       // 0: 128 MiB
}

// Memory is the [Backend] in this process's memory. It forgets everything when the
// process ends.
//
// Records are spread over shards, each with a mutex that is held for one step on
// one record. Nothing ever holds two, or all of them one after the other without
// letting others in.
//
// A record takes RecordBytes + max(RoomyResult, its encoded result) of MaxBytes. A
// done record is dropped when its TTL is over; one in flight is free when its
// lease is, and dropped as long again after that, so that an owner who is late may
// still complete it if nobody else came. Until then both are live: without room
// Begin returns ErrFull. A result beyond RoomyResult must leave half of MaxBytes free,
// else it gets ErrFull: a few large ones do not take the room for everybody's small
// ones. Every Begin drops a few expired ones, and all it needs to
// if there is no room; there is no goroutine.
type Memory struct {
	clock      clock.Clock
	maxRecords int64
	maxBytes   int64
	owner      uint64
	seed       maphash.Seed
	shards     []memoryShard // a power of two of them

	records atomic.Int64  // reserved before a record is made, given back after it is dropped
	bytes   atomic.Int64  // likewise
	fences  atomic.Uint64 // the last fence given
	hand    atomic.Uint32 // the shard swept last in passing
}

var _ Backend = (*Memory)(nil)

// NewMemory makes an empty memory. It returns every fault of cfg at once.
func NewMemory(cfg MemoryConfig) (*Memory, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Default()
	}
	if cfg.MaxRecords == 0 {
		cfg.MaxRecords = DefaultMaxRecords
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = DefaultMaxBytes
	}
	if err := errors.Join(
		checkRange("MaxRecords", int64(cfg.MaxRecords), maxRecords, "100000"),
		checkRange("MaxBytes", cfg.MaxBytes, maxBytes, "134217728"),
	); err != nil {
		return nil, err
	}
	m := &Memory{
		clock: cfg.Clock, maxRecords: int64(cfg.MaxRecords), maxBytes: cfg.MaxBytes,
		owner: rand.Uint64(), seed: maphash.MakeSeed(),
	}
	m.shards = make([]memoryShard, max(minShards, 1<<bits.Len(uint(cfg.MaxRecords/perShard))))
	for i := range m.shards {
		m.shards[i].next.Store(math.MaxInt64)
	}
	return m, nil
}

// Begin is as [Backend] says. It returns ctx's error if ctx is done.
func (m *Memory) Begin(ctx context.Context, key Key, print Fingerprint, lease time.Duration) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	m.sweepPassing()
	sh := m.shard(key)
	for {
		if e, ok := m.begin(sh, key, print, lease); ok {
			return e, nil
		}
		// Whoever takes the room that is made here got in: some caller always does.
		if !m.makeRoom() {
			return Entry{}, ErrFull
		}
	}
}

// begin reports false if the key is free and there is no room for a record.
func (m *Memory) begin(sh *memoryShard, key Key, print Fingerprint, lease time.Duration) (Entry, bool) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	// Read under the mutex, so that of two holders the later one is not behind.
	now := m.clock.Now()
	m.sweep(sh, now, sweepInPassing)
	r := sh.records[key]
	switch {
	case r == nil:
		if !m.reserve() {
			return Entry{}, false
		}
		r = sh.add(key)
	case r.freeAt <= now:
		// Its lease or its TTL is over. The record is used again: the fence makes it
		// another one to its last owner.
		m.shrinkValue(r)
	case r.print != print:
		return Entry{State: Mismatch}, true
	case r.done:
		return Entry{State: Done, Value: r.value}, true
	default:
		return Entry{State: InFlight, After: r.freeAt.Sub(now)}, true
	}
	r.print, r.done, r.fence = print, false, m.fences.Add(1)
	sh.lease(r, now, lease)
	return Entry{State: Acquired, Token: NewToken(key, m.owner, r.fence)}, true
}

// Complete is as [Backend] says. It never waits, and ctx is not asked.
func (m *Memory) Complete(_ context.Context, token Token, value []byte, ttl time.Duration) error {
	more := valueBytes(value)
	sh := m.shard(token.key)
	for {
		err := m.complete(sh, token, value, more, ttl)
		if err != ErrFull || !m.makeRoom() {
			return err
		}
	}
}

func (m *Memory) complete(sh *memoryShard, token Token, value []byte, more int64, ttl time.Duration) error {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := m.clock.Now()
	r := m.held(sh, token, now)
	switch {
	case r == nil:
		return ErrLost
	case r.done:
		return nil
	case more > 0 && !addUpTo(&m.bytes, more, m.maxBytes/2):
		return ErrFull
	}
	r.value, r.done = value, true
	end := now.Add(ttl)
	sh.move(r, end, end)
	return nil
}

// Release is as [Backend] says. It never waits, and ctx is not asked.
func (m *Memory) Release(_ context.Context, token Token) error {
	sh := m.shard(token.key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	r := m.held(sh, token, m.clock.Now())
	if r == nil || r.done {
		return ErrLost
	}
	m.drop(sh, r)
	return nil
}

// Extend is as [Backend] says. It never waits, and ctx is not asked.
func (m *Memory) Extend(_ context.Context, token Token, lease time.Duration) error {
	sh := m.shard(token.key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := m.clock.Now()
	r := m.held(sh, token, now)
	if r == nil || r.done {
		return ErrLost
	}
	sh.lease(r, now, lease)
	return nil
}

// Usage returns what there is now, expired records that were not dropped yet
// included.
func (m *Memory) Usage() Usage {
	return Usage{
		Records: int(m.records.Load()), MaxRecords: int(m.maxRecords),
		Bytes: m.bytes.Load(), MaxBytes: m.maxBytes,
	}
}

// held returns the record that token holds, or completed, if there still is one.
// That its lease is over makes it free for others, but while nobody came it is the
// token's: a result that comes late is better kept than lost.
func (m *Memory) held(sh *memoryShard, token Token, now clock.Time) *record {
	r := sh.records[token.key]
	if r == nil || token.owner != m.owner || token.fence != r.fence || r.dropAt <= now {
		return nil
	}
	return r
}

func (m *Memory) shard(key Key) *memoryShard {
	// Seeded: clients who choose keys cannot choose a shard.
	h := maphash.Bytes(m.seed, key[:])
	return &m.shards[h&uint64(len(m.shards)-1)]
}
