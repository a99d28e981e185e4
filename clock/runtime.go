package clock

import (
	"sync"
	"time"
)

// runtimeClock reads the clock of the Go runtime as the time since a fixed base. time.Since on a base with a
// monotonic reading takes a path of its own in package time, one reading of the monotonic clock and a subtraction:
// it costs what a linkname to runtime.nanotime would, so there is none.
type runtimeClock struct {
	base time.Time
}

// Now returns the time since the base.
func (r *runtimeClock) Now() Time { return Time(time.Since(r.base)) }

// origin is the base of every real clock of the process. It is set by the first one made and not at import, so that
// a program that only links the package does no work for it.
var origin struct {
	once  sync.Once
	clock *runtimeClock
}

func runtimeOrigin() *runtimeClock {
	origin.once.Do(func() { origin.clock = &runtimeClock{base: time.Now()} })
	return origin.clock
}

// Runtime returns the monotonic clock of the Go runtime. It is available everywhere, never goes back, and is the
// reference the other real clocks are held against. On Linux and macOS it stands still while the machine is
// suspended. Every call returns the same Clock. Now costs about 35 ns where the kernel lets programs read its clock
// without a system call, several hundred where it does not.
func Runtime() Clock { return runtimeOrigin() }
