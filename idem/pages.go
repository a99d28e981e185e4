package idem

import (
	"errors"
	"math"
	"runtime"
	"unsafe"
)

// pages is what a window lives in: zeroed memory that the garbage collector does
// not look into, off the heap where the system gives it.
type pages struct {
	lines, ids unsafe.Pointer
	offHeap    bool
}

const pageSize = 4096

// takePages gets memory for lines and ids from source, or from the heap if source
// has none. What came from source is unmapped once the pages value is unreachable.
func takePages(source func(uintptr) ([]byte, error), lines, ids uintptr) (*pages, error) {
	if lines+ids > math.MaxInt-2*lineSize {
		return nil, errors.New("does not fit into this machine's address space")
	}
	block, err := source(lines + ids)
	if err != nil {
		block = make([]byte, lines+ids+lineSize)
		// To the start of a pair of cache lines; lines is whole pairs, so ids too.
		block = block[-uintptr(unsafe.Pointer(unsafe.SliceData(block)))&(lineSize-1):]
	}
	for i := 0; i < len(block); i += pageSize {
		block[i] = 0 // so that no call waits for the system to give a page
	}
	start := unsafe.Pointer(unsafe.SliceData(block))
	p := &pages{lines: start, ids: unsafe.Add(start, lines), offHeap: err == nil}
	if p.offHeap {
		runtime.AddCleanup(p, unmapPages, block)
	}
	return p, nil
}
