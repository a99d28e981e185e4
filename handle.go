package tickgate

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Handle is one key of a gate, resolved and pinned: it is not evicted until
// [Handle.Release]. It is the fastest way to decide. A Handle is a small value to
// copy, for any number of goroutines; all copies are one handle. The zero Handle,
// and one that was released, denies with BadRequest.
type Handle struct{ h *handle }

type handle struct {
	pin              shard.Pin
	g                *Gate
	state            atomic.Uint32
	apikey, endpoint string

	mu   sync.Mutex             // serializes Release and following; no decision of a handle in use takes it
	next *handle                // where a stale handle went on to
	fate Reason                 // why a stale handle could not go on
	at   *routes                // under which it went on, or could not
	held atomic.Pointer[handle] // next, for decisions
}

// The states of a handle. A stale one was made under a policy that does not answer
// for its endpoint any more.
const (
	inUse = iota
	stale
	released
)

// Handle resolves the key of apikey at endpoint and pins it, bringing it in if it
// is new. Unlike decisions it allocates, and takes a lock.
func (g *Gate) Handle(apikey, endpoint string) (Handle, error) {
	if badName(apikey) || badName(endpoint) {
		return Handle{}, ErrKey
	}
	h, why := g.hold(apikey, endpoint)
	switch why {
	case NoPolicy:
		return Handle{}, ErrNoPolicy
	case Full:
		return Handle{}, ErrFull
	}
	return Handle{h}, nil
}

// hold pins a key under the policy that answers for it now.
func (g *Gate) hold(apikey, endpoint string) (*handle, Reason) {
	for {
		r := g.routes.Load()
		p, named := r.find(endpoint)
		if p == nil {
			return nil, NoPolicy
		}
		var k shard.Key
		if named {
			k = p.Named(apikey)
		} else {
			k = p.Unnamed(apikey, endpoint, make([]byte, 0, 2*maxName))
		}
		pin, v := g.table.Pin(p, &k, g.Now())
		if v != shard.Allowed {
			return nil, Full
		}
		h := &handle{pin: pin, g: g, apikey: apikey, endpoint: endpoint}
		g.handles.add(h)
		// Policies that were applied meanwhile may not have seen the handle.
		if q, _ := g.routes.Load().find(endpoint); q == p {
			return h, OK
		}
		h.pin.Release()
		g.handles.remove(h)
	}
}

// Allow takes one token at the clock's time.
func (h Handle) Allow() bool {
	if h.h == nil {
		return false
	}
	return h.AllowAt(h.h.g.Now(), 1)
}

// AllowAt takes n tokens at now and reports whether they were there. now is a
// reading of the gate's clock.
func (h Handle) AllowAt(now clock.Time, n int64) bool {
	if h.h == nil || n <= 0 || h.h.state.Load() != inUse {
		return h.TakeAt(now, n).Allowed
	}
	p := h.h.pin.Policy()
	v := h.h.pin.Allow(now, n)
	runtime.KeepAlive(h.h)
	switch {
	case v == shard.Allowed:
		p.CountAllowed()
		return true
	case v == shard.Limited && p.Plain():
		p.CountDenied()
		return false
	}
	return passes(p, v)
}

// Take is TakeAt with the clock's time.
func (h Handle) Take(n int64) (d Decision) {
	if h.h == nil {
		d.refuse(BadRequest)
		return d
	}
	h.takeAt(&d, h.h.g.Now(), &shard.Ask{N: n})
	return d
}

// TakeAt is [Gate.TakeAt] for this key. [Handle.Refund] takes the Decision.
func (h Handle) TakeAt(now clock.Time, n int64) (d Decision) {
	h.takeAt(&d, now, &shard.Ask{N: n})
	return d
}

// TakeUrgentAt is TakeAt for what must get out: a cancel. It may use what limits
// keep in reserve ([policy.Limit].Reserve), and passes a block. A ban holds for it
// too: the venue would count it.
func (h Handle) TakeUrgentAt(now clock.Time, n int64) (d Decision) {
	h.takeAt(&d, now, &shard.Ask{N: n, Urgent: true})
	return d
}

// TakeCostsAt is TakeAt for a request that weighs differently on single limits: n
// tokens of every limit that costs does not name. A cost of 0 leaves a limit out.
// A name that the policy has no limit for is a BadRequest.
func (h Handle) TakeCostsAt(now clock.Time, n int64, costs ...Cost) (d Decision) {
	h.takeAt(&d, now, &shard.Ask{N: n, Costs: costs})
	return d
}

func (h Handle) takeAt(d *Decision, now clock.Time, a *shard.Ask) {
	to, why := h.resolve()
	if why == OK && a.N < 0 {
		why = BadRequest
	}
	if why != OK {
		if h.h != nil && why == BadRequest {
			h.h.g.bad.Inc()
		}
		d.refuse(why)
		return
	}
	if !a.Urgent && len(a.Costs) == 0 && to.takeOne(d, now, a.N) {
		return
	}
	var r shard.Result
	v := to.pin.Take(now, a, &r)
	runtime.KeepAlive(to)
	decide(d, to.g.number, v, &r, charged(a))
	if v == shard.BadAsk {
		to.g.bad.Inc()
		return
	}
	conclude(d, to.pin.Policy(), v, a.N > 0 || len(a.Costs) > 0)
}

// takeOne decides where the policy has one token bucket, and reports whether it has.
func (h *handle) takeOne(d *Decision, now clock.Time, n int64) bool {
	v, at, late, k := h.pin.TakeOne(now, n)
	runtime.KeepAlive(h)
	if v == shard.Elsewhere {
		return false
	}
	l, o := &k.Plan.Limits[0], shard.OriginOf(h.pin.ID())
	d.one(h.g.number, v, k.Plan, k.Word, h.pin.ID(), at, late, n)
	if d.Allowed && n > 0 {
		d.Seq = k.Seq
		d.receipt.charged.Ahead, d.receipt.charged.Done = l.AheadBefore(k.Word, o, at, n), k.Done
		d.receipt.marked, d.receipt.known = true, k.Known
		d.receipt.marks[0] = h.pin.Mark(l, k.Word, at, n)
	}
	conclude(d, h.pin.Policy(), v, n > 0)
	return true
}

// charged is what a take of a charged, for telling whether it charged anything.
func charged(a *shard.Ask) int64 {
	n := a.N
	for i := range a.Costs {
		n = max(n, a.Costs[i].N)
	}
	return n
}

// resolve returns the handle to use: this one, or the one it went on to.
func (h Handle) resolve() (*handle, Reason) {
	if h.h == nil {
		return nil, BadRequest
	}
	if h.h.state.Load() == inUse {
		return h.h, OK
	}
	return h.h.follow()
}

// follow resolves a stale handle under the policy that answers for it now.
func (h *handle) follow() (*handle, Reason) {
	if to := h.held.Load(); to != nil && to.state.Load() == inUse {
		return to, OK
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.Load() == released {
		return nil, BadRequest
	}
	for {
		r := h.g.routes.Load()
		if h.next != nil {
			if h.next.state.Load() == inUse {
				return h.next, OK
			}
			h.next.end()
			h.next = nil
			h.held.Store(nil)
		} else if h.at == r && h.fate == NoPolicy {
			return nil, h.fate
		}
		h.next, h.fate = h.g.hold(h.apikey, h.endpoint)
		h.at = r
		if h.next == nil {
			return nil, h.fate
		}
		h.held.Store(h.next)
	}
}

// Refund gives back what d took: the tokens that the key would have more now if d
// had not been, and never more. What time has refilled since is not given twice,
// so a refund after a while may be of nothing. d may come from any call for this
// key; one that did not come from a handle is sometimes given back less. It is to
// be given back once: a second time it takes away what others used. A denial, or a
// decision of another key or another gate, gives nothing; that of a group is for
// [Group.Refund].
func (h Handle) Refund(d Decision) {
	if to, why := h.resolve(); why == OK {
		to.refund(d)
	}
}

func (h *handle) refund(d Decision) {
	if !d.Allowed || d.receipt.gate != h.g.number {
		return
	}
	h.pin.Refund(d.asRefund(), h.g.clock)
	runtime.KeepAlive(h)
	h.news()
}

// news tells those who wait for the key that it may have tokens, or is barred.
func (h *handle) news() { h.g.waits.wakeKey(h.apikey, h.endpoint) }

// asRefund is what giving back d needs.
func (d *Decision) asRefund() shard.Refund {
	r := shard.Refund{
		Charged: d.receipt.charged, N: d.receipt.n,
		Slot: d.receipt.slot, First: d.receipt.first, Gen: d.receipt.gen,
	}
	if d.receipt.marked {
		r.Marks = &d.receipt.marks
	}
	return r
}

// Release ends the handle, and all copies of it: the key may be evicted again.
// Releasing again does nothing.
func (h Handle) Release() {
	if h.h != nil {
		h.h.end()
	}
}

func (h *handle) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.Swap(released) == released {
		return
	}
	h.pin.Release() // first: nobody waits for the list while the key is held
	h.g.handles.remove(h)
	if h.next != nil {
		h.next.end()
	}
	h.news()
	runtime.KeepAlive(h)
}
