package shard

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"
)

// Pages describes where a table's slots are.
type Pages struct {
	Bytes   uintptr // of the slots
	OffHeap bool    // outside the Go heap; false where the system has no mmap or refused it
	Huge    bool    // huge pages were asked for and the kernel took the advice
}

// memory is what a table lives in. The slots have all their pages from the
// beginning; far and tail are address space until touched.
type memory struct {
	hot, far, tail unsafe.Pointer
	pages          Pages
}

const (
	hugePage  = 2 << 20
	smallPage = 4096
	alignTo   = 128
)

// reserve gets zeroed memory for n slots. Off the heap it is returned to the
// system once the memory value is unreachable.
func reserve(n uintptr) (*memory, error) {
	if n > math.MaxInt/(slotSize+coldSize+extSize) {
		return nil, fmt.Errorf("%d slots do not fit into this machine's address space", n)
	}
	if has := installed(); has > 0 && uint64(n*slotSize) > has {
		return nil, fmt.Errorf("the slots take %d MiB at once, and this machine has %d MiB: lower MaxKeys", n*slotSize>>20, has>>20)
	}
	m := &memory{pages: Pages{Bytes: n * slotSize}}
	var blocks [3][]byte
	for i, size := range [...]uintptr{slotSize, coldSize, extSize} {
		b, err := mapPages(n * size)
		if err != nil {
			for _, b := range blocks[:i] {
				unmapPages(b)
			}
			if err := heapRoom(n * (slotSize + coldSize + extSize)); err != nil {
				return nil, err
			}
			return m.onHeap(n), nil
		}
		blocks[i] = b
	}
	m.pages.OffHeap = true
	m.pages.Huge = n*slotSize >= hugePage && adviseHuge(blocks[0])
	touch(blocks[0])
	m.hot, m.far, m.tail = start(blocks[0]), start(blocks[1]), start(blocks[2])
	runtime.AddCleanup(m, func(blocks [3][]byte) {
		for _, b := range blocks {
			unmapPages(b)
		}
	}, blocks)
	return m, nil
}

// touch makes the system give every page of b now, so that no decision waits for
// one: a page costs it a quarter of a microsecond, a huge one a hundred.
func touch(b []byte) {
	for i := 0; i < len(b); i += smallPage {
		b[i] = 0
	}
}

// onHeap is the fallback: ordinary memory without pointers, which the collector
// does not scan.
func (m *memory) onHeap(n uintptr) *memory {
	m.hot = heapBlock(n * slotSize)
	m.far = heapBlock(n * coldSize)
	m.tail = heapBlock(n * extSize)
	return m
}

// heapRoom reports as an error that the system has no address space for so much either:
// the Go heap would end the process.
func heapRoom(size uintptr) error {
	b, err := mapPages(size)
	switch {
	case err == nil:
		unmapPages(b)
	case !errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("the system refuses %d MiB of address space (%w; see ulimit -v and vm.overcommit_memory): lower MaxKeys", size>>20, err)
	}
	return nil
}

// heapBlock allocates size bytes that start on a pair of cache lines.
func heapBlock(size uintptr) unsafe.Pointer {
	b := make([]byte, size+alignTo)
	off := -uintptr(start(b)) & (alignTo - 1)
	return unsafe.Add(start(b), off)
}

func start(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
