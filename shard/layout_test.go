package shard

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/internal/pad"
)

func TestLayoutOfSlot(t *testing.T) {
	var s slot
	require.Equal(t, uintptr(64), unsafe.Sizeof(s), "one cache line")
	require.Equal(t, uintptr(0), unsafe.Offsetof(s.meta))
	require.Equal(t, uintptr(8), unsafe.Offsetof(s.ident))
	require.Equal(t, uintptr(16), unsafe.Offsetof(s.words))
	require.Equal(t, uintptr(32), unsafe.Offsetof(s.seen))
	require.Equal(t, uintptr(40), unsafe.Offsetof(s.key))
	require.Equal(t, uintptr(64), unsafe.Offsetof(s.key)+unsafe.Sizeof(s.key), "the key ends with the line")
}

func TestLayoutOfCold(t *testing.T) {
	var c cold
	require.Equal(t, uintptr(256), unsafe.Sizeof(c))
	require.Equal(t, uintptr(48), unsafe.Offsetof(c.gifts), "after words 2 to 7")
	require.Equal(t, uintptr(488), unsafe.Sizeof(ext{}))
	require.Equal(t, 2*maxName, inlineKey+int(unsafe.Sizeof(ext{})), "the longest key fits")
}

// What every decision counts on and what only inserts and evictions write are on
// lines apart.
func TestLayoutOfTable(t *testing.T) {
	var table Table
	require.GreaterOrEqual(t, unsafe.Offsetof(table.keys)-unsafe.Offsetof(table.policies), uintptr(pad.LineSize))
	require.GreaterOrEqual(t, unsafe.Offsetof(table.mem)-unsafe.Offsetof(table.stats), uintptr(pad.LineSize))
	require.Equal(t, uintptr(pad.LineSize), unsafe.Sizeof(countLine{}))
	require.LessOrEqual(t, unsafe.Sizeof(Policy{}), uintptr(pad.LineSize))
	require.Greater(t, unsafe.Sizeof(Policy{}), uintptr(112), "Go would pack it with others")
}

// The counters of a policy are spread for the processors that there are, and none is
// lost.
func TestCountLines(t *testing.T) {
	for procs, want := range map[int]int{1: 32, 4: 32, 5: 64, 8: 64, 32: 256, 100: 1024, 128: 1024, 1000: 1024} {
		require.Equal(t, want, countLines(procs), procs)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(24))
	_, p := newTable(t, Options{MaxKeys: 1}, 1, 1000, 4)
	require.Equal(t, uint32(255), p.last)
	for i := range p.last + 1 {
		p.countLine(i).allowed.Add(1)
	}
	require.Equal(t, uint64(256), p.Counts().Allowed)
}

// Every slot of a real table starts a line, wherever its memory came from, and no
// two parts overlap.
func TestLayoutAtRunTime(t *testing.T) {
	for _, maxKeys := range []int{1, 3, 300, 10_000, 70_000} {
		table, _ := newTable(t, Options{MaxKeys: maxKeys}, 1, 1000, 4)
		requireLaidOut(t, table)
		require.GreaterOrEqual(t, int(table.slots), perKey*maxKeys)
		require.Zero(t, table.shardSlots%groupSlots)
		require.GreaterOrEqual(t, table.shardSlots, uint32(2*window), "a window ends before it meets its own begin")
	}
	m := (&memory{}).onHeap(100)
	requireLaidOut(t, &Table{hot: m.hot, far: m.far, tail: m.tail, slots: 100})
}

func requireLaidOut(t *testing.T, table *Table) {
	for i := range table.slots {
		require.Zero(t, uintptr(unsafe.Pointer(table.slot(i)))%slotSize)
		require.Zero(t, uintptr(unsafe.Pointer(table.cold(i)))%64)
		require.Zero(t, uintptr(unsafe.Pointer(table.ext(i)))%8)
	}
	last := table.slots - 1
	require.Equal(t, uintptr(last)*slotSize, uintptr(unsafe.Pointer(table.slot(last)))-uintptr(unsafe.Pointer(table.slot(0))))
	table.ext(last)[len(ext{})-1].Store(1) // in bounds: else this faults
	table.cold(last).shiftInc.Store(1)
	require.Zero(t, table.slot(last).meta.Load(), "parts overlap")
}

// Every word of a slot is a word of its own.
func TestLayoutOfWords(t *testing.T) {
	table, _ := newTable(t, Options{MaxKeys: 1}, 1, 1000, 4)
	for i := range uint32(3) {
		for k := range 8 {
			table.word(i, k).Store(uint64(i)<<8 | uint64(k) + 1)
		}
	}
	for i := range uint32(3) {
		for k := range 8 {
			require.Equal(t, uint64(i)<<8|uint64(k)+1, table.word(i, k).Load())
		}
		require.Zero(t, table.slot(i).meta.Load()|table.slot(i).ident.Load()|uint64(table.slot(i).seen.Load()))
		require.Zero(t, table.cold(i).gifts.w.Load())
	}
}

// Home positions stay within their shard, and the window around its end.
func TestLayoutOfHomes(t *testing.T) {
	for _, maxKeys := range []int{1, 300, 10_000, 70_000} {
		table, p := newTable(t, Options{MaxKeys: maxKeys}, 1, 1000, 4)
		hashes := []uint64{0, 1<<64 - 1, 1<<32 - 1, 1 << 63}
		for i := range 300 {
			hashes = append(hashes, p.Named(string(rune(i+1))).hash)
		}
		for _, h := range hashes {
			base, off := table.home(h)
			require.Zero(t, base%table.shardSlots)
			require.Less(t, off, table.shardSlots)
			require.Less(t, base+off, table.slots)
			g := table.group(h)
			require.Equal(t, base+off, g.at(g.home))
			seen := map[uint32]bool{}
			for d := range g.home + window {
				i := g.at(d)
				if seen[i] || i < base || i >= base+table.shardSlots || table.distance(&g, i) != d {
					t.Fatalf("hash %x: distance %d is slot %d", h, d, i)
				}
				seen[i] = true
			}
		}
	}
}
