package idem

import (
	"errors"
	"hash/maphash"
	"math"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tickgate/tickgate/clock"
)

const (
	// MaxID is the most bytes of an id.
	MaxID = 64

	// MaxCapacity is the most ids that a window can be made for.
	MaxCapacity = 1 << 24

	// DefaultCapacity is the number of ids a window is made for unless told
	// otherwise.
	DefaultCapacity = 1 << 16
)

// WindowConfig says what a [Window] is made of. The zero value is a working
// default.
type WindowConfig struct {
	// Clock tells the time of calls that do not bring one. nil: clock.Default().
	Clock clock.Clock

	// TTL is how long an id is remembered from its Fresh on. 0: 24 h.
	TTL time.Duration

	// Capacity is the most ids remembered at one time, 1 to 2^24. 0: 65,536. The
	// memory, 165 bytes for each, is taken once, by NewWindow.
	Capacity int
}

// Window tells the first use of an id from later ones, such as client order ids on
// their way to a venue. It is exact: it keeps the ids themselves, so that two ids
// are never taken for one, and it forgets none before its TTL is over. When it
// holds as many live ids as its capacity it says [Full], and forgets nothing.
//
// It has no lock: a goroutine that is stopped anywhere keeps no other from
// finishing. Its memory is taken when it is made, outside the Go heap where the
// system allows, and no call allocates. With the caller's time, a call on an id of
// 20 bytes whose lines are cached takes about 30 ns for a duplicate, 115 for a fresh
// one, most of them for nine locked instructions, and 30 for a release; in a large
// window two or three cache misses more.
//
// Expired ids go in passing: once the window is half full each Fresh looks at seven
// places. So only a window with little room to spare comes to be full of ids of
// which some have expired; the call that meets this drops 32 of them, or looks
// through all of the window, some 9 ms for a million ids. A window full of live ids
// says so at once.
//
// Ids are found by the runtime's hash, 5 ns, with a random seed: a client who
// chooses ids cannot make them collide. That two hashes are equal decides nothing,
// so there is no need for a digest that cannot be forged.
//
// All methods may be called by any number of goroutines at once.
type Window struct {
	lines unsafe.Pointer // n lines
	ids   unsafe.Pointer // n lines' ids
	n     uint32
	cap   uint32
	ttl   time.Duration
	clock clock.Clock
	seed  maphash.Seed
	mask  uint64 // of the hash; all ones but where a test wants collisions
	pages *pages // keeps the memory for as long as the window is reachable

	_     [128]byte     // what follows is written by every Fresh and Release
	gauge atomic.Uint64 // gauge.go
	hint  atomic.Int64  // pass.go
	hand  atomic.Uint32 // pass.go
	_     [128]byte
}

// NewWindow makes an empty window. It returns every fault of cfg at once.
func NewWindow(cfg WindowConfig) (*Window, error) { return newWindow(cfg, mapPages) }

func newWindow(cfg WindowConfig, source func(uintptr) ([]byte, error)) (*Window, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Default()
	}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.Capacity == 0 {
		cfg.Capacity = DefaultCapacity
	}
	if err := errors.Join(
		checkSpan("TTL", cfg.TTL, DefaultTTL),
		checkRange("Capacity", int64(cfg.Capacity), MaxCapacity, "65536"),
	); err != nil {
		return nil, err
	}
	w := &Window{
		n:   uint32(cfg.Capacity*perID/lineSlots + 2),
		cap: uint32(cfg.Capacity), ttl: cfg.TTL, clock: cfg.Clock,
		seed: maphash.MakeSeed(), mask: math.MaxUint64,
	}
	var err error
	if w.pages, err = takePages(source, uintptr(w.n)*lineSize, uintptr(w.n)*idsSize); err != nil {
		return nil, &ConfigError{Field: "Capacity", Value: strconv.Itoa(cfg.Capacity), Reason: err.Error()}
	}
	w.lines, w.ids = w.pages.lines, w.pages.ids
	w.hint.Store(math.MinInt64)
	return w, nil
}

// Add is shorthand for AddAt(now, id) with the clock's time.
func (w *Window) Add(id string) Verdict { return w.AddAt(w.clock.Now(), id) }

// AddAt says whether id is [Fresh], and remembers it if it is, until the TTL after
// now; a time before now finds it live too. Of any number of concurrent calls with
// one id exactly one is told Fresh; the others [Duplicate], unless their now is a
// TTL or more later. An id of no bytes or of more than [MaxID] is [BadID].
//
// Full is said at an instant at which as many ids as the capacity were held, id
// not among them, and every one was live at now. (There is one exception: where
// the last room was taken by a call that the system has since kept from running
// for over 1,000 turns of the scheduler.)
//
// Times that go back make ids live longer, never shorter, but an id that was found
// expired by a call with a later time is forgotten for all.
func (w *Window) AddAt(now clock.Time, id string) Verdict {
	k, ok := w.probe(id)
	if !ok {
		return BadID
	}
	v := w.add(k, now)
	runtime.KeepAlive(w) // the pages are unmapped when w is not reachable
	return v
}

// Release is shorthand for ReleaseAt(now, id) with the clock's time.
func (w *Window) Release(id string) bool { return w.ReleaseAt(w.clock.Now(), id) }

// ReleaseAt forgets id, as when its order is closed, and makes room for another.
// It reports whether id was live at now. Of concurrent calls one is told so.
func (w *Window) ReleaseAt(now clock.Time, id string) bool {
	k, ok := w.probe(id)
	if !ok {
		return false
	}
	p := w.find(k)
	ok = p.ok() && w.remove(p) && w.live(p, now)
	runtime.KeepAlive(w)
	return ok
}

// Len returns the number of ids held, those included that have expired and were
// not met since. It is one atomic load.
func (w *Window) Len() int { return int(gauge(w.gauge.Load()).used()) }

// Cap returns the most ids that the window holds.
func (w *Window) Cap() int { return int(w.cap) }

// TTL returns how long an id is remembered.
func (w *Window) TTL() time.Duration { return w.ttl }
