package tickgate

import (
	"errors"
	"runtime"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Errors of [Handle.ReserveAt] and [Handle.Wait].
var (
	ErrTooCostly = errors.New("tickgate: more tokens than a limit's capacity: it can never pass")
	ErrReleased  = errors.New("tickgate: the handle was released")
	ErrBlocked   = errors.New("tickgate: blocked")
	ErrBanned    = errors.New("tickgate: banned")
	ErrCost      = errors.New("tickgate: the number of tokens must not be negative")
	ErrNotAhead  = errors.New("tickgate: only token buckets can be reserved ahead of time; this policy counts in windows: use Wait, or ask again after RetryAfter")
)

// Reservation is tokens taken ahead of time: they are there after Delay.
type Reservation struct {
	h     *handle
	d     Decision
	at    clock.Time    // when it was made
	each  *shard.Aheads // of a waiter
	delay time.Duration
}

// ReserveAt takes n tokens at now whether they are there or not, and says how long
// until they are. Everybody after it waits for that too. Of several limits each is
// charged as of now, so that cancelling restores it: one that had its tokens before
// the Delay is over may have refilled them by then. Who must not pass it, takes when
// the Delay is over, or uses Wait, which sees to it. Only token buckets can be
// reserved from; where the policy has a limit that counts in windows, it succeeds
// if the tokens are there now and is ErrNotAhead if not. It costs about as much as
// TakeAt.
func (h Handle) ReserveAt(now clock.Time, n int64) (Reservation, error) {
	to, why := h.resolve()
	if why == OK && n < 0 {
		to.g.bad.Inc()
		return Reservation{}, ErrCost
	}
	if why != OK {
		return Reservation{}, unusable(why)
	}
	return to.reserve(now, n)
}

func (h *handle) reserve(now clock.Time, n int64) (Reservation, error) {
	res := Reservation{h: h}
	if n == 0 {
		return res, nil
	}
	if h.inShadow() {
		return h.reserveNow(now, n)
	}
	var r shard.Result
	v := h.pin.Ahead(now, n, &r, nil)
	if v == shard.Elsewhere {
		return h.reserveNow(now, n)
	}
	runtime.KeepAlive(h)
	count(h.pin.Policy(), v)
	if v == shard.Limited {
		return Reservation{}, ErrTooCostly // over a year ahead
	}
	decide(&res.d, h.g.number, v, &r, n)
	if v != shard.Allowed {
		return Reservation{}, unusable(res.d.Reason)
	}
	res.delay = later(r.Retry, r.Late)
	return res, nil
}

// reserveNow is reserve where the tokens must be there.
func (h *handle) reserveNow(now clock.Time, n int64) (Reservation, error) {
	d := Handle{h}.TakeAt(now, n)
	switch {
	case d.Allowed:
		return Reservation{h: h, d: d}, nil
	case d.Reason == Limited || d.Reason == Unsettled:
		return Reservation{}, ErrNotAhead
	}
	return Reservation{}, unusable(d.Reason)
}

// unusable is the error for a reason that waiting does not change.
func unusable(why Reason) error {
	switch why {
	case TooCostly:
		return ErrTooCostly
	case Blocked:
		return ErrBlocked
	case Banned:
		return ErrBanned
	case NoPolicy:
		return ErrNoPolicy
	case Full:
		return ErrFull
	}
	return ErrReleased
}

// Delay returns how long after the time of ReserveAt the tokens are there, 0 if
// they were at once. A change of the policy, and reservations cancelled before it,
// do not change what it says.
func (r Reservation) Delay() time.Duration { return r.delay }

// Decision returns the reservation as a decision, for [Handle.SyncUsed].
func (r Reservation) Decision() Decision { return r.d }

// CancelAt gives the tokens back: exactly the n that were reserved, as long as none
// of them has been refilled by time, that is before the reservation's tokens begin
// to be due; later what time has not given back (see [Handle.Refund]). With several
// limits, and others cancelled since, it may give back less. Who was told a Delay
// after this reservation keeps it: the tokens go to whoever asks next. now is a
// reading of the gate's clock, and is what the clock says. It is to be called once.
func (r Reservation) CancelAt(now clock.Time) {
	if r.h == nil || !r.d.Allowed {
		return
	}
	// Of the key that it was taken from, also where the handle has gone on to another.
	r.h.refund(r.d)
}

// Cancel is CancelAt with the clock's time.
func (r Reservation) Cancel() {
	if r.h != nil {
		r.CancelAt(r.h.g.Now())
	}
}
