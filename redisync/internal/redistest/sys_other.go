//go:build !unix

package redistest

import "syscall"

// There is nothing to freeze a process with: Freeze reports that.
const (
	signalFreeze = syscall.Signal(0x7f)
	signalThaw   = syscall.Signal(0x7e)
)
