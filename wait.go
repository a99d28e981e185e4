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
	switch {
	case n == 0:
		return nil
	case to.inShadow():
		return h.unwaited(n)
	}
	w := to.g.waits.enter(to.apikey, to.endpoint, n)
	defer w.leave()
	for {
		if err := h.hopeless(ctx, w); err != nil {
			return err
		}
		if w.first() {
			return h.serve(ctx, n, w)
		}
		select {
		case <-w.kick: // first now, or the policy changed, or a block
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
		if to.inShadow() {
			if held != nil {
				held.Cancel()
				held = nil
			}
			return h.unwaited(n)
		}
		now := to.g.Now()
		if held != nil && held.h != to {
			held.Cancel() // the key is under another policy now
			held = nil
		}
		wait, res, err := to.turn(now, n, held)
		held = res
		if err != nil {
			return err
		}
		if wait == 0 {
			held = nil // it has them
			return nil
		}
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
			// At its last moment the tokens may be there.
			if to, why := h.resolve(); why == OK && held != nil && held.h == to {
				if wait, res, err := to.turn(to.g.Now(), n, held); err == nil && wait == 0 {
					held = nil
					return nil
				} else {
					held = res
				}
			}
			return ctx.Err()
		}
	}
}

// turn does for the first in line what can be done at now: it takes the tokens,
// ahead of time if it may. It returns how long they are not there yet.
func (h *handle) turn(now clock.Time, n int64, held *Reservation) (time.Duration, *Reservation, error) {
	if held != nil {
		plan := h.pin.Policy().Plan()
		v, due := h.pin.Outlook(now, 0, n)
		switch {
		case v != shard.Allowed:
			return 0, held, unusable(verdicts[v])
		case plan.Gen() == held.d.receipt.gen:
			// What others took ahead after it does not concern it; what was given back
			// before it does. A ban does.
			own := int64(held.delay) - int64(now-held.at)
			due = min(due, max(own, 0, h.pin.BannedFor(now)))
			if due > 0 || own == 0 && len(plan.Active) == 1 {
				return later(due, 0), held, nil
			}
			// It is late, or the faster of its limits had the tokens before: what it took
			// ahead may be refilled by now, and is to be taken now, or the same tokens pass
			// twice.
			if v, due, res := h.again(now, n, held); v == shard.Allowed {
				return due, res, nil
			}
			return 1, held, nil // the policy has just changed
		case int64(held.delay) > int64(now-held.at):
			// It goes on under the limits that are in force now.
			h.pin.Unahead(now, &held.d.receipt.marks, held.d.receipt.gen)
		}
		var d Decision
		if h.try(&d, now, n); d.Allowed {
			return 0, nil, nil
		}
	}
	var r shard.Result
	each := new(shard.Aheads)
	if v := h.pin.Ahead(now, n, &r, each); v == shard.Allowed {
		count(h.pin.Policy(), v)
		res := &Reservation{h: h, at: now, delay: later(r.Retry, r.Late), each: each}
		decide(&res.d, h.g.number, v, &r, n)
		return res.delay, res, nil
	}
	var d Decision
	v := h.try(&d, now, n)
	switch d.Reason {
	case OK:
		count(h.pin.Policy(), v)
		return 0, nil, nil
	case Limited, Banned, Unsettled:
		return max(d.RetryAfter, 1), nil, nil
	}
	count(h.pin.Policy(), v)
	return 0, nil, unusable(d.Reason)
}

// again takes the tokens now in place of those that were taken ahead.
func (h *handle) again(now clock.Time, n int64, held *Reservation) (shard.Verdict, time.Duration, *Reservation) {
	var r shard.Result
	v, due := h.pin.Again(h.g.clock, held.d.asRefund(), held.each, n, &r)
	runtime.KeepAlive(h)
	if v != shard.Allowed {
		return v, 0, nil
	}
	res := &Reservation{h: h, at: now, delay: later(due, 0), each: held.each}
	decide(&res.d, h.g.number, v, &r, n)
	return v, res.delay, res
}

// try takes without counting the decision: one that waits is asked about often.
func (h *handle) try(d *Decision, now clock.Time, n int64) shard.Verdict {
	var r shard.Result
	v := h.pin.Take(now, &shard.Ask{N: n}, &r)
	runtime.KeepAlive(h)
	decide(d, h.g.number, v, &r, n)
	return v
}

// hopeless is the error where waiting is no use: the tokens of w can never be there,
// or not before the deadline, those of all ahead of it taken first.
func (h Handle) hopeless(ctx context.Context, w *waiter) error {
	to, why := h.resolve()
	if why != OK {
		return unusable(why)
	}
	if to.inShadow() {
		return nil // first in line, it need not wait
	}
	v, due := to.pin.Outlook(to.g.Now(), w.ahead(), w.n)
	runtime.KeepAlive(to)
	if v != shard.Allowed {
		return unusable(verdicts[v])
	}
	return beyond(ctx, later(due, 0))
}

// beyond is the error if ctx ends before wait is over.
func beyond(ctx context.Context, wait time.Duration) error {
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) >= wait {
		return nil
	}
	return fmt.Errorf("tickgate: the tokens are there in %v, after the deadline: %w", wait, context.DeadlineExceeded)
}
