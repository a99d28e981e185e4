package idem

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/tickgate/tickgate/clock"
)

const (
	// lineSlots is what fits beside a header into a cache line.
	lineSlots = 7

	// perID is slots for each id of the capacity. At a load of one half 3.5 of a
	// line's 7 slots are taken on average, and 3 lines in 100 send an id on to the
	// next.
	perID = 2

	// maxReach is how many lines from its home on an id may lie in. Chance would
	// have to fill 1,785 slots in a row of a window half full.
	maxReach = 255

	lineSize = 128
	idsSize  = lineSlots * MaxID
)

// line is seven slots and a header:
//
//	┌────────┬────────┬─────┬────────┬────────┬────────┬─────┬────────┐
//	│ header │ meta 0 │  …  │ meta 6 │ unused │ time 0 │  …  │ time 6 │
//	└────────┴────────┴─────┴────────┴────────┴────────┴─────┴────────┘
//	 0        8              56       64       72              120  128
//
// The first half is all that most look-ups need of it; the second is the line that
// amd64 fetches with it. Ids lie apart, 64 bytes each, on lines of their own.
//
// Who writes what: a slot's time and id the one inserter that made it private;
// publishing its meta publishes them. Readers may hold a slot that is being used
// again, so every word is atomic, and what was read counts only once meta still
// shows what it showed before.
type line struct {
	header atomic.Uint64
	metas  [lineSlots]atomic.Uint64
	_      [8]byte
	times  [lineSlots]atomic.Int64
}

// idWords is an id, padded with zeros.
type idWords [MaxID / 8]atomic.Uint64

// Sizes are part of the design.
var (
	_ [lineSize - unsafe.Sizeof(line{})]struct{}
	_ [unsafe.Sizeof(line{}) - lineSize]struct{}
	_ [MaxID - unsafe.Sizeof(idWords{})]struct{}
)

// line returns line i. i is below w.n: it comes from the window's own arithmetic,
// never from a caller.
func (w *Window) line(i uint32) *line {
	return (*line)(unsafe.Add(w.lines, uintptr(i)*lineSize))
}

// meta returns the state of slot s of line i.
func (w *Window) meta(i, s uint32) *atomic.Uint64 { return &w.line(i).metas[s] }

// words returns the id of slot s of line i.
func (w *Window) words(i, s uint32) *idWords {
	return (*idWords)(unsafe.Add(w.ids, uintptr(i)*idsSize+uintptr(s)*MaxID))
}

// ahead returns the line d lines after i; d is at most w.n.
func (w *Window) ahead(i, d uint32) uint32 {
	if i += d; i >= w.n {
		i -= w.n
	}
	return i
}

// probe is an id ready to be looked up. It and place are of four words, which the
// compiler keeps in registers: through memory each cost 13 ns of a call.
type probe struct {
	id   string
	want meta   // length and tag, as a live slot with the id has them
	home uint32 // line
}

// probe reports false for an id that is none. The home is made of the hash's high
// bits, the tag of its low ones.
func (w *Window) probe(id string) (probe, bool) {
	if len(id) == 0 || len(id) > MaxID {
		return probe{}, false
	}
	hash := maphash.String(w.seed, id) & w.mask
	home, _ := bits.Mul64(hash, uint64(w.n))
	return probe{id, metaOf(len(id), hash), uint32(home)}, true
}

// write puts id and its time into slot s of line i, which the caller owns.
func (w *Window) write(i, s uint32, id string, at clock.Time) {
	w.line(i).times[s].Store(int64(at))
	words, n, j := w.words(i, s), uint(len(id)), uint(0)
	for ; 8*j+8 <= n; j++ {
		words[j%8].Store(whole(id, j))
	}
	if n%8 != 0 {
		words[j%8].Store(rest(id))
	}
}

// whole returns 8 bytes of id from 8j on, all of which it has.
func whole(id string, j uint) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(id), len(id))[8*j:]) // only read
}

// rest returns the bytes of id after the last whole 8, of which there are 1 to 7,
// padded with zeros.
func rest(id string) uint64 {
	b := unsafe.Slice(unsafe.StringData(id), len(id)) // only read
	n := uint(len(b))
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(b[n-8:]) >> (64 - n%8*8)
	case n >= 4:
		// Two halves that overlap: where they do, they agree.
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	}
	// The first, middle and last of 1 to 3 bytes.
	return uint64(b[0]) | uint64(b[n/2])<<(8*(n/2)) | uint64(b[n-1])<<(8*(n-1))
}
