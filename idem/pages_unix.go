//go:build unix && !purego

package idem

import "golang.org/x/sys/unix"

// mapPages gets size bytes of zeroed, private memory off the heap.
func mapPages(size uintptr) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
}

func unmapPages(b []byte) {
	// It can only fail for an argument that mapPages did not return.
	_ = unix.Munmap(b)
}
