package shard

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tickgate/tickgate/bucket"
)

// Equip gives every rolling limit of a plan that is not in force yet the memory
// of its rings, unless it goes on using those of the generation before: one ring
// for each slot, off the heap, address space until a key uses it. It is given
// back when the plan is unreachable.
func (t *Table) Equip(plan *bucket.Plan) error {
	for _, k := range plan.Active {
		l := &plan.Limits[k]
		if l.RingWords() == 0 || l.Rings() != nil {
			continue
		}
		size := uintptr(l.RingWords()) * 8
		if uintptr(t.slots) > math.MaxInt/size {
			return fmt.Errorf("the rings of limit %s, %d slots of %d bytes, do not fit into this machine's address space",
				plan.Names[k], t.slots, size)
		}
		r, err := t.rings(l, uintptr(t.slots)*size)
		if err != nil {
			return fmt.Errorf("the rings of limit %s, %d slots of %d bytes: %w", plan.Names[k], t.slots, size, err)
		}
		plan.Limits[k] = l.WithRings(r)
	}
	return nil
}

// mostHeap bounds the rings that come from the heap where there is no mmap: 4 GiB, on
// 32-bit machines 256 MiB. An allocation that fails ends the process; one that is not
// touched takes no memory.
const mostHeap = 1 << (28 + 4*(^uintptr(0)>>63))

// rings reserves memory for the rings of l.
func (t *Table) rings(l *bucket.Limit, size uintptr) (*bucket.Rings, error) {
	b, err := mapPages(size)
	switch {
	case err == nil:
		r := l.NewRings(unsafe.Pointer(unsafe.SliceData(b)), int(t.slots))
		runtime.AddCleanup(r, unmapPages, b)
		return r, nil
	case errors.Is(err, errors.ErrUnsupported) && size <= mostHeap:
		return l.NewRings(heapBlock(size), int(t.slots)), nil
	}
	return nil, fmt.Errorf("no memory for them (%w): lower MaxKeys, or count fewer tokens", err)
}
