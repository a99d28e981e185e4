package tickgate

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Wait takes n tokens as soon as they are there and all who waited for this key
// before got theirs: first come, first served, over all handles of the key. It
// returns nil once it has them.
//
// It fails at once where waiting is no use: with an error that is
// context.DeadlineExceeded if the deadline of ctx is too near for the tokens to be
// there, with ErrTooCostly if n is above a limit's capacity, ErrBlocked if the key is
// blocked, ErrReleased after Release. A ban is waited for. If ctx ends while it
// waits, it returns ctx.Err() and has taken nothing; those behind move up. Apply and
// Block take effect on those who wait already.
//
// Calls that do not wait do not overtake who is first in line for a token bucket:
// its tokens are reserved. With a limit that counts in windows they may, since
// nothing can be reserved there.
//
// Wait sleeps by the runtime's timers, so the gate's clock must run like time does.
// It takes a lock, a timer and an allocation: it is no path for orders.
func (h Handle) Wait(ctx context.Context, n int64) error {
	if n < 0 {
		if h.h != nil {
			h.h.g.bad.Inc()
		}
		return ErrCost
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	to, why := h.resolve()
	if why != OK {
		return unusable(why)
	}
	if n == 0 {
		return nil
	}
	w := to.g.waits.enter(to.apikey, to.endpoint, n)
	defer w.leave()
	if err := h.tooLate(ctx, w); err != nil {
		return err
	}
	for !w.first() {
		select {
		case <-w.kick: // first now, or the policy changed
			if err := h.tooLate(ctx, w); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return h.serve(ctx, n, w)
}

// serve waits for the tokens of the first in line.
func (h Handle) serve(ctx context.Context, n int64, w *waiter) error {
	var held *Reservation // what it has taken ahead
	var timer *time.Timer
	defer func() {
		if held != nil {
			held.Cancel()
		}
		if timer != nil {
			timer.Stop()
		}
	}()
	for {
		to, why := h.resolve()
		if why != OK {
			return unusable(why)
		}
		now := to.g.now()
		if held != nil && held.h != to {
			held.Cancel() // the key is under another policy now
			held = nil
		}
		wait, res, err := to.turn(now, n, held)
		if err != nil {
			return err
		}
		if wait == 0 {
			held = nil
			return nil
		}
		held = res
		if err := beyond(ctx, wait); err != nil {
			return err
		}
		if timer == nil {
			timer = time.NewTimer(wait)
		} else {
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
		case <-w.kick: // the policy changed, or a block
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// turn does for the first in line what can be done at now: it takes the tokens,
// ahead of time if it may. It returns how long they are not there yet.
func (h *handle) turn(now clock.Time, n int64, held *Reservation) (time.Duration, *Reservation, error) {
	var d Decision
	if held != nil {
		// Blocked or banned since?
		if h.try(&d, now, 0); d.Reason == OK || d.Reason == Limited {
			if plan := h.pin.Policy().Plan(); plan.Gen() == held.d.receipt.gen || plan.Steady() && h.pin.Due(now, 0) == 0 {
				return later(h.pin.Due(now, 0), 0), held, nil
			}
			// Other limits than it took from ahead: it goes on under those in force.
			h.pin.Credit(now, n)
		} else {
			held.Cancel()
		}
		d = Decision{}
	}
	var r shard.Result
	if v := h.pin.Ahead(now, n, &r); v == shard.Allowed {
		count(h.pin.Policy(), v)
		res := &Reservation{h: h}
		decide(&res.d, h.g.number, v, &r, n)
		return later(r.Retry, r.Late), res, nil
	}
	v := h.try(&d, now, n)
	switch d.Reason {
	case OK:
		count(h.pin.Policy(), v)
		return 0, nil, nil
	case Limited, Banned:
		return max(d.RetryAfter, 1), nil, nil
	}
	count(h.pin.Policy(), v)
	return 0, nil, unusable(d.Reason)
}

// try takes without counting the decision: one that waits is asked about often.
func (h *handle) try(d *Decision, now clock.Time, n int64) shard.Verdict {
	var r shard.Result
	v := h.pin.Take(now, &shard.Ask{N: n}, &r)
	runtime.KeepAlive(h)
	decide(d, h.g.number, v, &r, n)
	return v
}

// tooLate is the error if the deadline comes before the tokens of w can be there,
// those of all ahead of it taken first.
func (h Handle) tooLate(ctx context.Context, w *waiter) error {
	if _, ok := ctx.Deadline(); !ok {
		return nil
	}
	to, why := h.resolve()
	if why != OK {
		return unusable(why)
	}
	wait := to.pin.Due(to.g.now(), w.ahead())
	runtime.KeepAlive(to)
	return beyond(ctx, later(wait, 0))
}

// beyond is the error if ctx ends before wait is over.
func beyond(ctx context.Context, wait time.Duration) error {
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) >= wait {
		return nil
	}
	return fmt.Errorf("tickgate: the tokens are there in %v, after the deadline: %w", wait, context.DeadlineExceeded)
}
