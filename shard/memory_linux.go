//go:build linux && !purego

package shard

import "golang.org/x/sys/unix"

// noReserve: the cold parts are address space that most tables never use.
const noReserve = unix.MAP_NORESERVE

// adviseHuge asks for huge pages and reports whether the kernel took the advice;
// it gives them when it has them.
func adviseHuge(b []byte) bool { return unix.Madvise(b, unix.MADV_HUGEPAGE) == nil }
