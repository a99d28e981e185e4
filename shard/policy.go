package shard

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/internal/pad"
)

// Policy is what the table knows of an endpoint's policy: the limits in force,
// replaced as a whole, and the counters. Its index is part of every key.
type Policy struct {
	plan  atomic.Pointer[bucket.Plan]
	index uint16
	flags atomic.Uint32 // only who counts a denial asks
	salt  uint64

	// The counters: a power of two of lines, and one less than that.
	lines unsafe.Pointer
	last  uint32

	// Every decision reads the above, so nobody's writes may lie beside it: Go aligns what
	// has more than 112 bytes, and at most 128, to 128.
	_ [pad.LineSize - 36]byte
}

// MaxPolicies is the most policies that a table can tell apart, ever: indexes
// are not used again.
const MaxPolicies = 1 << 16

// countLine is one goroutine's share of a policy's counters, or that of a few:
// every decision adds to one, so they are spread over lines by stack address.
type countLine struct {
	allowed  atomic.Uint64
	denied   atomic.Uint64
	shadowed atomic.Uint64 // of allowed
	barred   atomic.Uint64 // of denied
	near     atomic.Uint64 // of allowed
	_        [pad.LineSize - 40]byte
}

// countLines is how many lines a policy's counters are spread over: eight for each of
// procs that may run, so that one shares its line with chance one in eight at most. At
// least 32, 4 KiB, and at most 1,024.
func countLines(procs int) int {
	n := max(32, min(8*procs, 1024))
	return 1 << bits.Len(uint(n-1))
}

// AddPolicy makes a policy with its first plan. It is not for concurrent use
// with itself. The caller sees to it that there are never more than MaxPolicies.
func (t *Table) AddPolicy(endpoint string, plan *bucket.Plan) *Policy {
	old := *t.policies.Load()
	n := countLines(runtime.GOMAXPROCS(0))
	p := &Policy{
		index: uint16(len(old)),
		salt:  xxhash.Sum64String(endpoint),
		lines: unsafe.Pointer(&make([]countLine, n)[0]), // from 4 KiB on, Go aligns to pages
		last:  uint32(n - 1),
	}
	p.plan.Store(plan)
	next := append(old, p) // readers of old do not look beyond its length
	t.policies.Store(&next)
	return p
}

// Plan returns the limits in force.
func (p *Policy) Plan() *bucket.Plan { return p.plan.Load() }

// Shadow reports whether what the policy's limits deny is to pass.
func (p *Policy) Shadow() bool { return p.flags.Load()&shadowFlag != 0 }

// Remote reports whether what is Unsettled here is decided, and counted, elsewhere.
func (p *Policy) Remote() bool { return p.flags.Load()&remoteFlag != 0 }

// Plain reports whether it is neither.
func (p *Policy) Plain() bool { return p.flags.Load() == 0 }

// SetFlags sets what Shadow and Remote report.
func (p *Policy) SetFlags(shadow, remote bool) {
	flags := uint32(0)
	if shadow {
		flags |= shadowFlag
	}
	if remote {
		flags |= remoteFlag
	}
	p.flags.Store(flags)
}

const (
	shadowFlag = 1 << iota
	remoteFlag
)

// Counts are decisions.
type Counts struct {
	Allowed, Denied uint64
	Shadowed        uint64 // of Allowed: denied by a limit that is in the shadow
	Barred          uint64 // of Denied: by a block or a ban
	Near            uint64 // of Allowed, where that is looked at: less than a fifth was left
}

// Counts returns the decisions so far.
func (p *Policy) Counts() (c Counts) {
	for i := range p.last + 1 {
		l := p.countLine(i)
		c.Allowed += l.allowed.Load()
		c.Denied += l.denied.Load()
		c.Shadowed += l.shadowed.Load()
		c.Barred += l.barred.Load()
		c.Near += l.near.Load()
	}
	return c
}

// CountAllowed counts a decision. It costs one uncontended atomic add.
func (p *Policy) CountAllowed() { p.line().allowed.Add(1) }

// CountDenied counts a decision.
func (p *Policy) CountDenied() { p.line().denied.Add(1) }

// CountShadowed counts one that passed though a limit denied it.
func (p *Policy) CountShadowed() {
	l := p.line()
	l.allowed.Add(1)
	l.shadowed.Add(1)
}

// CountNear counts one that was allowed and left little.
func (p *Policy) CountNear() {
	l := p.line()
	l.allowed.Add(1)
	l.near.Add(1)
}

// CountBarred counts one that a block or a ban denied.
func (p *Policy) CountBarred() {
	l := p.line()
	l.denied.Add(1)
	l.barred.Add(1)
}

// line picks a counter line by the address of the caller's stack: goroutines that
// run at the same time have different stacks, so they seldom meet on a line.
// Multiplying spreads the address, whose low 11 bits are within the smallest stack.
func (p *Policy) line() *countLine {
	var here byte
	h := uint32(uintptr(unsafe.Pointer(&here))>>11) * 0x9E3779B1
	return p.countLine(h >> 16 & p.last)
}

// countLine returns line i, which is at most p.last.
func (p *Policy) countLine(i uint32) *countLine {
	return (*countLine)(unsafe.Add(p.lines, uintptr(i)*pad.LineSize))
}

// policy returns the policy of a slot's ident. Indexes come from this table, so
// they are in range, but a slot may be read while it is being re-used.
func (t *Table) policy(id uint64) *Policy {
	ps := *t.policies.Load()
	if i := int(identPolicy(id)); i < len(ps) {
		return ps[i]
	}
	return nil
}
