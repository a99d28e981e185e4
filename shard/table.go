package shard

import (
	"math"
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	uatomic "go.uber.org/atomic"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/pad"
)

const (
	// perKey is slots for each key that the table may hold. At a load of one half
	// a key lies 0.5 slots from its home on average, and the longest run of taken
	// slots in a million is below a hundred.
	perKey = 2

	// minShard keeps a shard large enough that chance cannot fill it while the
	// table as a whole has room: 256 keys on average in 512 slots, 16 standard
	// deviations from full.
	minShard = 512

	// window is how many slots from its home position on a key may lie in. It is
	// less than a shard, so it ends before the group of the home begins again.
	window = 256

	// MaxKeys is the most keys that a table can be made for.
	MaxKeys = 1 << 30
)

// Table maps keys to slots. All methods but [New] may be called by any number of
// goroutines at once.
type Table struct {
	hot, far, tail unsafe.Pointer // slots, cold lines, long keys: by slot index
	headers        []atomic.Uint64
	hints          []atomic.Int64
	floors         []atomic.Int64 // by shard: see raiseFloor

	slots      uint32 // in the table
	shardSlots uint32 // in a shard, a multiple of groupSlots
	shardShift uint8  // what to shift a hash by to get its shard
	maxKeys    int64
	reject     bool // when full, reject new keys rather than evict
	clock      clock.Clock
	pages      Pages

	policies uatomic.Pointer[[]*Policy] // by index; grows when policies are added

	blocked atomic.Pointer[map[string]struct{}] // apikeys; replaced as a whole
	dirty   atomic.Pointer[dirty]               // of keys with budgets; nil unless somebody settles them
	shifted atomic.Bool                         // some key was ever ahead of its callers (setShift)

	_ pad.Line
	// Written by inserts and evictions only.
	keys      atomic.Int64 // keys, and reservations for inserts about to publish
	published atomic.Int64 // keys
	sweep     sweep
	stats     tableStats
	_         pad.Line

	mem *memory // keeps the pages for as long as the table is reachable
}

// Options are what a table is made for.
type Options struct {
	MaxKeys int  // 1 to 2^30
	Reject  bool // when full, reject new keys instead of evicting

	// Clock is the one that callers' times are readings of. With it a take that is
	// rolled back under contention costs the refill of the time it took; without,
	// of up to 66 µs more.
	Clock clock.Clock
}

// New makes an empty table. Its memory is reserved here and never grows: 130
// bytes for each key the table may hold, and more, page by page, only for keys
// longer than 24 bytes, for policies of more than two limits, and for handles.
func New(o Options) (*Table, error) {
	t := &Table{maxKeys: int64(o.MaxKeys), reject: o.Reject, clock: o.Clock}
	want := uint64(o.MaxKeys) * perKey
	shards := uint64(1) << bits.Len(uint(4*runtime.GOMAXPROCS(0)-1))
	for shards > 1 && want/shards < minShard {
		shards /= 2
	}
	n := (want/shards + groupSlots) &^ (groupSlots - 1)
	t.shardSlots = uint32(max(n, minShard)) // inserts that are under way need room too
	t.shardShift = uint8(64 - bits.Len64(shards-1))
	t.slots = t.shardSlots * uint32(shards)

	mem, err := reserve(uintptr(t.slots))
	if err != nil {
		return nil, err
	}
	t.mem = mem
	t.hot, t.far, t.tail, t.pages = mem.hot, mem.far, mem.tail, mem.pages
	t.headers = make([]atomic.Uint64, t.slots/groupSlots)
	t.hints = make([]atomic.Int64, (t.slots+blockSlots-1)/blockSlots)
	for i := range t.hints {
		t.hints[i].Store(noKeys)
	}
	t.sweep.last.Store(math.MinInt64)
	t.sweep.newest.Store(math.MinInt64)
	t.floors = make([]atomic.Int64, shards)
	for i := range t.floors {
		t.floors[i].Store(math.MinInt64)
	}
	t.policies.Store(&[]*Policy{})
	t.blocked.Store(&map[string]struct{}{})
	return t, nil
}

// group is the home group of a key: its header, and where its slots begin.
type group struct {
	header *atomic.Uint64
	base   uint32 // first slot of the shard
	first  uint32 // first slot of the group, from base
	home   uint32 // the key's home position, from first
	n      uint32 // slots in the shard
}

// home returns the shard's first slot and the key's home position in it. The
// position is a multiplication instead of a remainder: the shard need not be a
// power of two.
func (t *Table) home(hash uint64) (base, off uint32) {
	shard := uint32(hash >> t.shardShift) // 0 for a shift of 64
	return shard * t.shardSlots, uint32(uint64(uint32(hash)) * uint64(t.shardSlots) >> 32)
}

func (t *Table) group(hash uint64) group {
	base, off := t.home(hash)
	first := off &^ (groupSlots - 1)
	return group{
		header: &t.headers[(base+first)/groupSlots],
		base:   base,
		first:  first,
		home:   off - first,
		n:      t.shardSlots,
	}
}

// at returns the slot at distance d from the group's first.
func (g *group) at(d uint32) uint32 {
	i := g.first + d
	if i >= g.n {
		i -= g.n
	}
	return g.base + i
}

// Len returns the number of keys in the table.
func (t *Table) Len() int { return int(max(t.published.Load(), 0)) }

// Cap returns the most keys that the table may hold.
func (t *Table) Cap() int { return int(t.maxKeys) }

// Pages says where the table's memory is.
func (t *Table) Pages() Pages { return t.pages }
