//go:build linux && !purego

package shard

import "golang.org/x/sys/unix"

// noReserve: the cold parts are address space that most tables never use.
const noReserve = unix.MAP_NORESERVE

// adviseHuge asks for huge pages and reports whether the kernel took the advice;
// it gives them when it has them.
func adviseHuge(b []byte) bool { return unix.Madvise(b, unix.MADV_HUGEPAGE) == nil }

// installed is the memory that the machine has, with swap, in bytes; 0: not known.
func installed() uint64 {
	var s unix.Sysinfo_t
	if unix.Sysinfo(&s) != nil {
		return 0
	}
	return (uint64(s.Totalram) + uint64(s.Totalswap)) * uint64(s.Unit)
}
