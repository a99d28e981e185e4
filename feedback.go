package tickgate

import (
	"runtime"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Cost is what a request costs on one limit, by the limit's name.
type Cost = shard.Cost

// SyncUsed corrects a limit by the venue's own count: used tokens of it, up to and
// including the admission d, as the reply to d says. What was admitted after d, and
// is still on its way, stays counted on top of it. Replies may come late, cross, and
// come out of order.
//
// A reply about a window that is over is ignored; so is one for an admission before
// another whose reply was used, one that met another correction half done (the next
// reply corrects), a decision of another key, a limit that the policy does not have,
// and used < 0, which is counted as a bad request.
//
// The venue is taken to have counted all that was admitted before d. Where requests
// overtake each other on their way, as they do over several connections, add to used
// those before d that are not answered yet.
//
// Of a rolling limit, what the venue counted more is taken to have been
// now, and what it counted less to have been first: either errs toward denying.
func (h Handle) SyncUsed(d Decision, limit string, used int64) {
	to, why := h.resolve()
	if why != OK {
		return
	}
	if used < 0 {
		to.g.bad.Inc()
		return
	}
	if !d.Allowed || !d.receipt.known || d.receipt.gate != to.g.number {
		return
	}
	to.pin.SyncUsed(to.g.Now(), shard.Synced{
		At: d.receipt.charged.At, Slot: d.receipt.slot, Gen: d.receipt.gen, Marks: &d.receipt.marks,
	}, limit, used)
	runtime.KeepAlive(to)
	to.news()
}

// Charge takes n tokens after the fact, whatever is left: the key may come to owe
// and is denied until that is refilled. Debt is bounded: that of a token bucket at
// more than a year of refill for any rate and decades for most, of a window at what
// fills it. More is not counted. n < 0 is ignored and counted as a bad request.
func (h Handle) Charge(n int64) {
	if to, why := h.resolve(); why == OK && to.counts(n) {
		to.pin.Charge(to.g.Now(), n)
		runtime.KeepAlive(to)
	}
}

// Credit gives n tokens back that whoever counts in truth, a venue, says were not
// used: down to nothing used. n < 0 is ignored and counted as a bad request.
func (h Handle) Credit(n int64) {
	if to, why := h.resolve(); why == OK && to.counts(n) {
		to.pin.Credit(to.g.Now(), n)
		runtime.KeepAlive(to)
		to.news()
	}
}

// ChargeLimit is Charge for one limit, by its name. A name that the policy has no
// limit for is ignored and counted as a bad request.
func (h Handle) ChargeLimit(limit string, n int64) { h.one(limit, n, (*shard.Pin).ChargeLimit) }

// CreditLimit is Credit for one limit, by its name, likewise.
func (h Handle) CreditLimit(limit string, n int64) { h.one(limit, n, (*shard.Pin).CreditLimit) }

func (h Handle) one(limit string, n int64, do func(*shard.Pin, clock.Time, string, int64) bool) {
	if to, why := h.resolve(); why == OK && to.counts(n) {
		if !do(&to.pin, to.g.Now(), limit, n) {
			to.g.bad.Inc()
		}
		runtime.KeepAlive(to)
		to.news()
	}
}

// Ban denies every call for this key, urgent ones too, until a time of the gate's
// clock: the venue said that it will not listen before. The longest ban counts. It
// outlives the handle: a banned key is not evicted.
func (h Handle) Ban(until clock.Time) {
	if to, why := h.resolve(); why == OK {
		to.pin.Ban(until)
		to.news()
		runtime.KeepAlive(to)
	}
}

// counts reports whether n is a number of tokens to do something with.
func (h *handle) counts(n int64) bool {
	if n < 0 {
		h.g.bad.Inc()
	}
	return n > 0
}
