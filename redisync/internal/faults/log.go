//go:build linux

package faults

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// Log holds the admissions of one goroutine. It is of a fixed size, and shared memory
// if it has a file: what a process has written is there after kill -9. One goroutine
// writes; read it when that has ended.
type Log struct {
	mem    []byte
	head   *logHead
	events []admitted.Event
}

// logHead is the beginning of the memory. The writer writes, count last of all, so
// that an admission which it did not finish is not seen.
type logHead struct {
	count    atomic.Int64
	overflow atomic.Int64 // admissions for which there was no room
	denied   atomic.Int64
	slowest  atomic.Int64 // ns, of all decisions
	times    [timeSteps]atomic.Int64
}

const (
	eventSize = int(unsafe.Sizeof(admitted.Event{}))
	headSize  = int(unsafe.Sizeof(logHead{}))
)

// NewLog makes a log for a number of admissions, in the file at path, or if that is
// empty in memory.
func NewLog(path string, events int) (*Log, error) {
	if events < 1 {
		return nil, fmt.Errorf("faults: a log of %d admissions: must be 1 or more", events)
	}
	size := headSize + events*eventSize
	if path == "" {
		mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		return logIn(mem, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("faults: no log: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("faults: no log: %w", err)
	}
	return mapLog(f, size)
}

// OpenLog reads the log that another process has left at path.
func OpenLog(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("faults: no log: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("faults: no log: %w", err)
	}
	if info.Size() < int64(headSize) {
		return nil, fmt.Errorf("faults: %s is no log: %d bytes", path, info.Size())
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	return logIn(mem, err)
}

func mapLog(f *os.File, size int) (*Log, error) {
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return logIn(mem, err)
}

// logIn looks at memory as a log. This is sound: the memory begins at a page, is not
// the collector's, and neither struct has a pointer.
func logIn(mem []byte, err error) (*Log, error) {
	if err != nil {
		return nil, fmt.Errorf("faults: no memory for a log: %w", err)
	}
	first := (*admitted.Event)(unsafe.Pointer(&mem[headSize]))
	return &Log{
		mem:    mem,
		head:   (*logHead)(unsafe.Pointer(&mem[0])),
		events: unsafe.Slice(first, (len(mem)-headSize)/eventSize),
	}, nil
}

// Admit notes an admission.
func (l *Log) Admit(e admitted.Event) {
	l.took(e.After - e.Before)
	i := l.head.count.Load()
	if i == int64(len(l.events)) {
		l.head.overflow.Add(1)
		return
	}
	l.events[i] = e
	l.head.count.Store(i + 1)
}

// Deny notes a denial that took ns.
func (l *Log) Deny(ns int64) {
	l.took(ns)
	l.head.denied.Add(1)
}

func (l *Log) took(ns int64) {
	l.head.times[timeStep(ns)].Add(1)
	if ns > l.head.slowest.Load() {
		l.head.slowest.Store(ns)
	}
}

// Events returns the admissions in the order in which they were noted: the log's own
// memory, good until Close.
func (l *Log) Events() []admitted.Event { return l.events[:l.head.count.Load()] }

// Overflow returns how many admissions are missing: a history with any is worthless.
func (l *Log) Overflow() int64 { return l.head.overflow.Load() }

// Denied returns how many requests were denied.
func (l *Log) Denied() int64 { return l.head.denied.Load() }

// Slowest returns the longest time that a decision took.
func (l *Log) Slowest() time.Duration { return time.Duration(l.head.slowest.Load()) }

// Close gives the memory back.
func (l *Log) Close() error {
	mem := l.mem
	l.mem, l.events, l.head = nil, nil, nil
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}
