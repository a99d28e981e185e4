package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const (
	endpoint = "order.new"
	crowd    = "crowd" // the strangers' endpoint
	key      = "key"
	grain    = 1 << 16
	maxKeys  = 4
)

// rig is a gate, one key of which several callers use. Between their calls they
// bring in strangers, so that the key is evicted soon after it is full, and move
// the clock on.
type rig struct {
	// full: some call found every key held by a handle, and no room. Such a denial is
	// of no bucket's making, and the history is not judged.
	full atomic.Bool

	gate   *tickgate.Gate
	clock  stalling
	start  int64
	tick   int64
	most   int64 // how far the clock may run on during a call, ns
	stamps atomic.Int64
	flight [callers]line // by caller: the clock when its call began, or idle
	mover  atomic.Bool   // somebody moves the clock
	ready  atomic.Int32
}

// stalling is the gate's clock. Some readings take long: others run meanwhile, in the
// middle of a refund for one.
type stalling struct {
	*clock.Manual
	calls *atomic.Uint32
}

func (s stalling) Now() clock.Time {
	if s.calls.Add(1)%4 == 0 {
		runtime.Gosched()
	}
	now := s.Manual.Now()
	if s.calls.Load()%4 == 1 {
		runtime.Gosched()
	}
	return now
}

// now is the clock's time without a stall.
func (r *rig) now() int64 { return int64(r.clock.Manual.Now()) }

// callers is how many goroutines make a history.
const callers = 6

// line keeps what callers write apart, so that they do not wait for each other
// outside the gate more than in it.
type line struct {
	atomic.Int64
	_ [120]byte
}

const idle = math.MaxInt64

func rigOf(t *testing.T, tick time.Duration, limits ...policy.Limit) *rig {
	r := &rig{clock: stalling{Manual: clock.NewManual(clock.Time(time.Hour)), calls: new(atomic.Uint32)}, tick: int64(tick), most: math.MaxInt64 / 2}
	r.start = r.now()
	for i := range r.flight {
		r.flight[i].Store(idle)
	}
	var err error
	r.gate, err = tickgate.New(tickgate.Config{Clock: r.clock, MaxKeys: maxKeys, Policies: policy.Set{
		{Endpoint: endpoint, Limits: limits},
		{Endpoint: crowd, Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}},
	}})
	require.NoError(t, err)
	return r
}

// unjudged is how many reasons there are not to judge the history: keys that were
// dropped by force, or a call without room.
func (r *rig) unjudged() uint64 {
	n := r.gate.Stats().Evictions.Forced
	if r.full.Load() {
		n++
	}
	return n
}

// run lets the callers run, each in a goroutine of its own, and returns the
// history.
func (r *rig) run(seed uint64, f func(c *caller)) []*op {
	var wg sync.WaitGroup
	var all [callers]*caller
	for i := range all {
		c := &caller{rig: r, by: i, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		for j := range c.names {
			c.names[j] = fmt.Sprintf("stranger-%d-%d", i, j)
		}
		all[i] = c
		wg.Go(func() {
			// All processors run callers before any caller begins; else the first
			// one is done before the second has woken up.
			for r.ready.Add(1); r.ready.Load() < callers; {
				runtime.Gosched()
			}
			f(c)
		})
	}
	wg.Wait()
	var ops []*op
	for _, c := range all {
		ops = append(ops, c.ops...)
	}
	return finish(ops)
}

// caller is one goroutine and what it saw.
type caller struct {
	*rig
	by    int
	rand  *rand.Rand
	ops   []*op
	names [16]string // of strangers
}

// pass lets something else happen between two calls: up to ticks of the clock,
// strangers that come in, others that run.
//
// Strangers come as handles, which take nothing: they are full at once, and no key
// that owes need ever be dropped for one.
func (c *caller) pass(ticks int) {
	for range c.rand.IntN(ticks + 1) {
		c.move()
		if c.rand.IntN(2) == 0 {
			if h, err := c.gate.Handle(c.names[c.rand.IntN(len(c.names))], crowd); err == nil {
				h.Release()
			}
		}
	}
	if c.rand.IntN(4) == 0 {
		runtime.Gosched()
	}
}

// move moves the clock by a tick, unless that makes it most or more during some
// call.
func (r *rig) move() {
	if !r.mover.CompareAndSwap(false, true) {
		return
	}
	oldest := int64(idle)
	for i := range r.flight {
		oldest = min(oldest, r.flight[i].Load())
	}
	// The second tick is for a caller who has just read the clock, and is not seen
	// here yet.
	if r.now()+2*r.tick-r.most < oldest {
		r.clock.Advance(time.Duration(r.tick))
	}
	r.mover.Store(false)
}

// enter begins a call at the clock's time.
func (c *caller) enter() int64 {
	for {
		now := c.now()
		c.flight[c.by].Store(now)
		if c.now() == now {
			return now
		}
	}
}

// record makes one call, and tells what it was.
func (c *caller) record(o *op, call func(*op)) *op {
	o.id, o.by, o.begun = c.by*1000+len(c.ops), c.by, c.enter()
	if o.kind == take && o.now == 0 {
		o.now = o.begun
		if c.rand.IntN(4) == 0 {
			c.pass(2) // the time is a little old when it is used
		}
	}
	o.call = c.stamps.Add(1)
	call(o)
	o.ret = c.stamps.Add(1)
	o.hi = c.now()
	c.flight[c.by].Store(idle)
	c.ops = append(c.ops, o)
	return o
}

// taken is a decision and its record.
type taken struct {
	*op
	d tickgate.Decision
}

// take takes by the gate, or by a handle if there is one. now is the time that it
// brings, 0 for the clock's.
func (c *caller) take(h *tickgate.Handle, now, n int64) (t taken) {
	t.op = c.record(&op{kind: take, now: now, n: n, plain: h == nil}, func(o *op) {
		if h == nil {
			t.d = c.gate.TakeAt(clock.Time(o.now), key, endpoint, n)
		} else {
			t.d = h.TakeAt(clock.Time(o.now), n)
		}
	})
	if t.d.Reason == tickgate.Full {
		c.full.Store(true)
	}
	t.got = answer{t.d.Allowed, t.d.Remaining, int64(t.d.ResetAfter), int64(t.d.RetryAfter)}
	return t
}

// refund gives a take back.
func (c *caller) refund(h tickgate.Handle, t taken) {
	c.record(&op{kind: refund, of: t.id, n: t.n}, func(*op) { h.Refund(t.d) })
}
