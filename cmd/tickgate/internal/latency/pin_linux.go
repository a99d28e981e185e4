package latency

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// cpus returns the numbers of the CPUs that this process may run on.
func cpus() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var out []int
	for i := 0; len(out) < set.Count(); i++ {
		if set.IsSet(i) {
			out = append(out, i)
		}
	}
	return out, nil
}

// pin keeps the calling goroutine on one thread and that thread on one CPU until
// the returned function is called, by the same goroutine. Other threads of the
// process are not affected: the runtime does not start any from a locked one.
func pin(cpu int) (unpin func(), err error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	one.Set(cpu)
	err = unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &one)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("--cpu %d: the thread cannot be pinned: %w", cpu, err)
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
	}, nil
}
