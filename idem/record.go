package idem

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate/clock"
)

// record is a key in flight or done. All of it is guarded by its shard's mutex.
type record struct {
	key    Key
	print  Fingerprint
	fence  uint64
	freeAt clock.Time // when another call may have the key
	dropAt clock.Time // when the record may be dropped: not before freeAt
	value  []byte     // when done: never changed, only replaced, so readers may keep it
	place  int        // in its shard's order
	done   bool
}

// memoryShard is a part of a Memory's records.
type memoryShard struct {
	mu      sync.Mutex
	records map[Key]*record
	order   []*record // a heap: the one to be dropped first is at 0
	most    int       // records since the map was made

	// next is order[0]'s dropAt, MaxInt64 if there is none: written with the mutex
	// held, read by sweepers without, who look again with it.
	next atomic.Int64

	_ [64]byte // shards that are used at the same time are not neighbours in a line
}

// add makes a record for key. It has no place in time until it is leased or moved.
func (sh *memoryShard) add(key Key) *record {
	if sh.records == nil {
		sh.records = make(map[Key]*record)
	}
	r := &record{key: key, place: len(sh.order), freeAt: math.MaxInt64, dropAt: math.MaxInt64}
	sh.records[key] = r
	sh.order = append(sh.order, r)
	sh.most = max(sh.most, len(sh.order))
	return r
}

// lease puts r in flight until lease from now, and keeps it as long again for an
// owner who is late.
func (sh *memoryShard) lease(r *record, now clock.Time, lease time.Duration) {
	free := now.Add(lease)
	sh.move(r, free, free.Add(lease))
}

// move changes r's times and puts it in its place.
func (sh *memoryShard) move(r *record, freeAt, dropAt clock.Time) {
	r.freeAt, r.dropAt = freeAt, dropAt
	sh.up(r.place)
	sh.down(r.place)
	sh.note()
}

// remove takes r out.
func (sh *memoryShard) remove(r *record) {
	delete(sh.records, r.key)
	last := len(sh.order) - 1
	i := r.place
	sh.set(i, sh.order[last])
	sh.order[last] = nil
	sh.order = sh.order[:last]
	if i < last {
		sh.up(i)
		sh.down(i)
	}
	sh.shrink()
	sh.note()
}

// The slices and maps of Go keep the room of the most they held. shrink gives it
// back once a shard of some size has lost seven in eight records, by making both
// anew: 500 entries to copy at most, of a shard filled evenly.
func (sh *memoryShard) shrink() {
	const some = 64
	n := len(sh.order)
	if sh.most < some || n > sh.most/8 {
		return
	}
	if n == 0 {
		sh.records, sh.order, sh.most = nil, nil, 0
		return
	}
	records := make(map[Key]*record, n)
	for _, r := range sh.order {
		records[r.key] = r
	}
	sh.records, sh.most = records, n
	sh.order = append(make([]*record, 0, 2*n), sh.order...)
}

func (sh *memoryShard) note() {
	next := int64(math.MaxInt64)
	if len(sh.order) > 0 {
		next = int64(sh.order[0].dropAt)
	}
	sh.next.Store(next)
}

func (sh *memoryShard) set(i int, r *record) {
	sh.order[i] = r
	r.place = i
}

// up and down restore the heap where only the record at i may be out of place.

func (sh *memoryShard) up(i int) {
	r := sh.order[i]
	for i > 0 {
		parent := (i - 1) / 2
		if sh.order[parent].dropAt <= r.dropAt {
			break
		}
		sh.set(i, sh.order[parent])
		i = parent
	}
	sh.set(i, r)
}

func (sh *memoryShard) down(i int) {
	r := sh.order[i]
	for {
		child := 2*i + 1
		if child >= len(sh.order) {
			break
		}
		if right := child + 1; right < len(sh.order) && sh.order[right].dropAt < sh.order[child].dropAt {
			child = right
		}
		if r.dropAt <= sh.order[child].dropAt {
			break
		}
		sh.set(i, sh.order[child])
		i = child
	}
	sh.set(i, r)
}
