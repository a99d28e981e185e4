package ratecompat

import (
	"context"
	"fmt"
	"time"
)

// Wait is WaitN(ctx, 1).
func (l *Limiter) Wait(ctx context.Context) error { return l.WaitN(ctx, 1) }

// WaitN blocks until n tokens are there and takes them. Who comes first is served
// first. It returns an error and takes nothing if
//
//   - n is negative, or more than the burst and the limit is not [Inf];
//   - ctx is done, or is done before the tokens are there: the error is ctx's;
//   - ctx has a deadline that comes before them: at once, with an error that is
//     context.DeadlineExceeded by errors.Is.
//
// If it gives up, it gives its tokens back, and those behind it move up. If the
// limit changes it waits as long as the new limit asks; a deadline that is too near
// then is not noticed before it comes. With limit 0 it waits until the limit changes.
//
// It goes by time.Now: do not mix it with times of another clock on one limiter.
func (l *Limiter) WaitN(ctx context.Context, n int) error {
	if v := l.try(n); v == tooMany || v == negative {
		return l.refusal(v, n)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if wait, ok := left(ctx); ok && wait < 0 {
		return l.refusal(short, n)
	}
	// Who waits has charged the word before, so tokens that are there are nobody's.
	if _, _, v := l.charge(time.Now(), int64(n), 0); v == passed {
		return nil
	}
	w, err := l.enqueue(ctx, n)
	if w == nil {
		return err
	}
	return l.await(ctx, w)
}

// try reports whether n can be served at all.
func (l *Limiter) try(n int) verdict {
	g := l.terms.Load()
	switch {
	case g != nil && g.inf:
		return passed
	case n < 0:
		return negative
	case g == nil && n > 0 || g != nil && int64(n) > g.most:
		return tooMany
	}
	return passed
}

// left returns the time until ctx's deadline, if it has one.
func left(ctx context.Context) (time.Duration, bool) {
	if d, ok := ctx.Deadline(); ok {
		return time.Until(d), true
	}
	return InfDuration, false
}

// enqueue charges n and lines up. It returns nil if there is nothing to wait for.
// Both are done under mu, so that the queue is in the order of the charges.
func (l *Limiter) enqueue(ctx context.Context, n int) (*waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	most, _ := left(ctx)
	c, wait, v := l.charge(time.Now(), int64(n), max(most, 0))
	if v != passed {
		return nil, l.refusal(v, n)
	}
	if wait == 0 {
		return nil, nil
	}
	w := &waiter{claim: c, ready: make(chan struct{}, 1)}
	l.queue.push(w)
	return w, nil
}

// await blocks until w is granted or ctx is done.
func (l *Limiter) await(ctx context.Context, w *waiter) error {
	var timer *time.Timer
	for {
		wait, granted := l.turnOf(w)
		if granted {
			return nil
		}
		var due <-chan time.Time
		if wait < InfDuration {
			if timer == nil {
				timer = time.NewTimer(wait)
				defer timer.Stop()
			} else {
				timer.Reset(wait)
			}
			due = timer.C
		}
		select {
		case <-due:
		case <-w.ready:
		case <-ctx.Done():
			if l.leave(w) {
				return ctx.Err()
			}
			return nil
		}
	}
}

// turnOf reports whether w was granted, and if not how long to wait before asking
// again: InfDuration, until it is told, for all but the head.
func (l *Limiter) turnOf(w *waiter) (wait time.Duration, granted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = InfDuration
	if l.queue.head == w {
		wait = l.grant(w)
	}
	return wait, w.granted
}

// leave takes w out of the queue and gives back what it took. It reports false if
// w was granted before: then its tokens are used.
func (l *Limiter) leave(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.granted {
		return false
	}
	head := l.queue.head == w
	l.queue.remove(w)
	l.giveBack(&w.claim, time.Now())
	if head {
		l.grant(nil)
	}
	return true
}

// refusal is the error of a Wait that takes nothing.
func (l *Limiter) refusal(v verdict, n int) error {
	switch v {
	case negative:
		return fmt.Errorf("rate: Wait(n=%d) is negative; use 0 or more", n)
	case tooMany:
		return fmt.Errorf("rate: Wait(n=%d) exceeds limiter's burst %d", n, l.Burst())
	case tooDeep:
		return fmt.Errorf("rate: Wait(n=%d) would be due after more than a year; too many tokens are reserved", n)
	}
	return fmt.Errorf("rate: Wait(n=%d) would exceed context deadline: %w", n, context.DeadlineExceeded)
}
