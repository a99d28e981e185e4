package tickgate

import (
	"runtime"
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
	pin      shard.Pin
	g        *Gate
	released atomic.Bool
}

// Handle resolves the key of apikey at endpoint and pins it, bringing it in if it
// is new. Unlike decisions it allocates.
func (g *Gate) Handle(apikey, endpoint string) (Handle, error) {
	p, named := g.routes.Load().find(endpoint)
	switch {
	case badName(apikey) || badName(endpoint):
		return Handle{}, ErrKey
	case p == nil:
		return Handle{}, ErrNoPolicy
	}
	var k shard.Key
	if named {
		k = p.Named(apikey)
	} else {
		k = p.Unnamed(apikey, endpoint, make([]byte, 0, 2*maxName))
	}
	pin, v := g.table.Pin(p, &k, g.now())
	if v != shard.Allowed {
		return Handle{}, ErrFull
	}
	return Handle{&handle{pin: pin, g: g}}, nil
}

// Allow takes one token at the clock's time.
func (h Handle) Allow() bool {
	if h.h == nil {
		return false
	}
	return h.AllowAt(h.h.g.now(), 1)
}

// AllowAt takes n tokens at now and reports whether they were there. now is a
// reading of the gate's clock.
func (h Handle) AllowAt(now clock.Time, n int64) bool {
	if h.h == nil || n <= 0 || h.h.released.Load() {
		return h.TakeAt(now, n).Allowed
	}
	p := h.h.pin.Policy()
	v := h.h.pin.Allow(now, n)
	runtime.KeepAlive(h.h)
	if v == shard.Allowed {
		p.CountAllowed()
		return true
	}
	p.CountDenied()
	return false
}

// Take is TakeAt with the clock's time.
func (h Handle) Take(n int64) (d Decision) {
	if h.h == nil {
		d.refuse(BadRequest)
		return d
	}
	h.takeAt(&d, h.h.g.now(), n)
	return d
}

// TakeAt is [Gate.TakeAt] for this key. [Handle.Refund] takes the Decision.
func (h Handle) TakeAt(now clock.Time, n int64) (d Decision) {
	h.takeAt(&d, now, n)
	return d
}

func (h Handle) takeAt(d *Decision, now clock.Time, n int64) {
	if h.h == nil {
		d.refuse(BadRequest)
		return
	}
	if n < 0 || h.h.released.Load() {
		h.h.g.bad.Inc()
		d.refuse(BadRequest)
		return
	}
	var r shard.Result
	v := h.h.pin.Take(now, n, &r)
	runtime.KeepAlive(h.h)
	if n > 0 {
		count(h.h.pin.Policy(), v)
	}
	decide(d, h.h.g.number, v, &r, n)
}

// Refund gives back what d took: the tokens that the key would have more now if d
// had not been, and never more. What time has refilled since is not given twice,
// so a refund after a while may be of nothing. d may come from any call for this
// key; one that did not come from a handle is sometimes given back less. It is to
// be given back once: a second time it takes away what others used. A denial, or a
// decision of another key or another gate, gives nothing.
func (h Handle) Refund(d Decision) {
	if !h.valid() || !d.Allowed || d.receipt.gate != h.h.g.number {
		return
	}
	h.h.pin.Refund(shard.Refund{
		Charged: d.receipt.charged, N: d.receipt.n,
		Slot: d.receipt.slot, First: d.receipt.first, Gen: d.receipt.gen,
	}, h.h.g.clock)
	runtime.KeepAlive(h.h)
}

// Charge takes n tokens after the fact, whatever is left: the key may come to owe
// and is denied until that is refilled. Debt is bounded, at more than a year of
// refill for any rate and decades for most; more is not counted. n < 0 is ignored and counted as a bad request.
func (h Handle) Charge(n int64) {
	if h.valid() && h.counts(n) {
		h.h.pin.Charge(h.h.g.now(), n)
		runtime.KeepAlive(h.h)
	}
}

// Credit gives n tokens back that whoever counts in truth, a venue, says were not
// used: down to nothing used. n < 0 is ignored and counted as a bad request.
func (h Handle) Credit(n int64) {
	if h.valid() && h.counts(n) {
		h.h.pin.Credit(h.h.g.now(), n)
		runtime.KeepAlive(h.h)
	}
}

// Release ends the handle, and all copies of it: the key may be evicted again.
// Releasing again does nothing.
func (h Handle) Release() {
	if h.h != nil && h.h.released.CompareAndSwap(false, true) {
		h.h.pin.Release()
		runtime.KeepAlive(h.h)
	}
}

func (h Handle) valid() bool { return h.h != nil && !h.h.released.Load() }

func (h Handle) counts(n int64) bool {
	if n < 0 {
		h.h.g.bad.Inc()
	}
	return n > 0
}
