//go:build unix && !purego

package shard

import (
	"golang.org/x/sys/unix"
)

// mapPages reserves size bytes of zeroed, private memory off the heap. The
// system gives it page by page, when it is first touched.
func mapPages(size uintptr) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
}

func unmapPages(b []byte) {
	// It can only fail for an argument that mapPages did not return.
	_ = unix.Munmap(b)
}
