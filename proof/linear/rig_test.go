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

// keys are the keys that are judged.
var keys = [...]struct{ apikey, endpoint string }{{key, endpoint}, {"account", "account"}, {"firm", "firm"}}

// rig is a gate, one key of which several callers use. Between their calls they
// bring in strangers, so that the key is evicted soon after it is full, and move
// the clock on.
type rig struct {
	// full: some call found every key held by a handle, and no room. Such a denial is
	// of no bucket's making, and the history is not judged.
	full atomic.Bool

	t      *testing.T
	gate   *tickgate.Gate
	clock  stalling
	start  int64
	tick   int64
	most   int64 // how far the clock may run on during a call, ns
	stamps atomic.Int64
	flight [callers]line // by caller: the clock when its call began, or idle
	mover  atomic.Bool   // somebody moves the clock
	still  bool          // nobody does while callers run
	ready  atomic.Int32
}

// stalling is the gate's clock. Some readings take long: others run meanwhile, in the
// middle of a refund for one.
type stalling struct {
	*clock.Manual
	calls *atomic.Uint32 // nil: none does
}

func (s stalling) Now() clock.Time {
	if s.calls == nil {
		return s.Manual.Now()
	}
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
	return rigWith(t, tick, maxKeys, policy.Policy{Endpoint: endpoint, Limits: limits})
}

func rigWith(t *testing.T, tick time.Duration, maxKeys int, policies ...policy.Policy) *rig {
	r := &rig{t: t, clock: stalling{Manual: clock.NewManual(clock.Time(time.Hour)), calls: new(atomic.Uint32)}, tick: int64(tick), most: math.MaxInt64 / 2}
	r.start = r.now()
	for i := range r.flight {
		r.flight[i].Store(idle)
	}
	var err error
	r.gate, err = tickgate.New(tickgate.Config{Clock: r.clock, MaxKeys: maxKeys, Policies: r.set(policies...)})
	require.NoError(t, err)
	return r
}

// set is policies with the strangers'.
func (r *rig) set(policies ...policy.Policy) policy.Set {
	return append(policies[:len(policies):len(policies)], policy.Policy{Endpoint: crowd, Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}})
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
	all := r.callers(seed)
	r.together(all, f)
	return history(all)
}

// stages is run with a clock that stands still while callers run: f is called n times by
// each, and between these times the clock moves by up to ticks.
func (r *rig) stages(seed uint64, n, ticks int, f func(c *caller, stage int)) []*op {
	all := r.callers(seed)
	r.still = true
	for stage := range n {
		r.together(all, func(c *caller) { f(c, stage) })
		r.clock.Advance(time.Duration(all[0].rand.Int64N(int64(ticks)+1) * r.tick))
	}
	return history(all)
}

func (r *rig) callers(seed uint64) (all []*caller) {
	for i := range callers {
		c := &caller{rig: r, by: i, rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		for j := range c.names {
			c.names[j] = fmt.Sprintf("stranger-%d-%d", i, j)
		}
		all = append(all, c)
	}
	return all
}

// together runs f for every caller, in goroutines that begin at once.
func (r *rig) together(all []*caller, f func(c *caller)) {
	var wg sync.WaitGroup
	r.ready.Store(0)
	for _, c := range all {
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
}

func history(all []*caller) []*op {
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
	lift  bool       // it has blocked
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
	if r.still || !r.mover.CompareAndSwap(false, true) {
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
	c.told(t)
	return t
}

// urgent takes what must get out by a handle, at the clock's time.
func (c *caller) urgent(h tickgate.Handle, n int64) (t taken) {
	t.op = c.record(&op{kind: take, n: n, urgent: true}, func(o *op) { t.d = h.TakeUrgentAt(clock.Time(o.now), n) })
	c.told(t)
	return t
}

// told notes what a decision told.
func (c *caller) told(t taken) {
	if t.d.Reason == tickgate.Full {
		c.full.Store(true)
	}
	t.got = answerOf(t.d)
}

func answerOf(d tickgate.Decision) answer {
	a := answer{allowed: d.Allowed, remaining: d.Remaining, reset: int64(d.ResetAfter), retry: int64(d.RetryAfter)}
	switch d.Reason {
	case tickgate.Banned:
		a.bar = banned
	case tickgate.Blocked:
		a.bar, a.retry = blocked, 0
	}
	return a
}

// charge, credit and ban by a handle.
func (c *caller) charge(h tickgate.Handle, n int64) {
	c.record(&op{kind: charge, n: n}, func(*op) { h.Charge(n) })
}

func (c *caller) credit(h tickgate.Handle, n int64) {
	c.record(&op{kind: credit, n: n}, func(*op) { h.Credit(n) })
}

func (c *caller) ban(h tickgate.Handle, ticks int64) {
	until := c.now() + ticks*c.tick
	c.record(&op{kind: ban, until: until}, func(*op) { h.Ban(clock.Time(until)) })
}

// refund gives a take back.
func (c *caller) refund(h tickgate.Handle, t taken) {
	c.record(&op{kind: refund, of: t.id, n: t.n}, func(*op) { h.Refund(t.d) })
}
