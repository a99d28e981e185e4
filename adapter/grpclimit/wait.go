package grpclimit

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tickgate/tickgate"
)

// wait is admit for a client that waits its turn.
func (l *limiter) wait(ctx context.Context, fullMethod, key, endpoint string, n int64) error {
	p, err := l.line.enter(key, endpoint)
	d := tickgate.Decision{RetryAfter: tickgate.Never}
	if err == nil {
		defer l.line.leave(p)
		err = p.h.Wait(ctx, n)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.Is(err, context.DeadlineExceeded):
		// It did not wait. How long it would have taken is known to the text of err only;
		// the look tells which limit it is.
		d = p.h.Take(0)
		d.Allowed, d.Reason, d.RetryAfter = false, tickgate.Limited, 0
	case errors.Is(err, tickgate.ErrTooCostly):
		d.Reason = tickgate.TooCostly
	case errors.Is(err, tickgate.ErrBlocked):
		d.Reason = tickgate.Blocked
	case errors.Is(err, tickgate.ErrFull):
		d.Reason = tickgate.Full
	case errors.Is(err, tickgate.ErrKey), errors.Is(err, tickgate.ErrCost):
		return l.fault(ctx, fullMethod, codes.InvalidArgument, err)
	default:
		return l.fault(ctx, fullMethod, codes.Internal, err)
	}
	return &Denied{FullMethod: fullMethod, Endpoint: endpoint, Decision: d, by: l}
}

// line holds one handle for each key that somebody waits for, however many do: a key
// can be pinned only so often, and a handle costs an allocation.
type line struct {
	gate *tickgate.Gate

	mu   sync.Mutex
	held map[name]*place
}

type name struct{ key, endpoint string }

// place is a key that somebody waits for.
type place struct {
	name
	h       tickgate.Handle
	waiters int // guarded by line.mu
}

// enter returns the place of a key, pinned until leave.
func (l *line) enter(key, endpoint string) (*place, error) {
	at := name{key, endpoint}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.held[at]
	if p == nil {
		h, err := l.gate.Handle(key, endpoint)
		if err != nil {
			return nil, err
		}
		if l.held == nil {
			l.held = make(map[name]*place)
		}
		p = &place{name: at, h: h}
		l.held[at] = p
	}
	p.waiters++
	return p, nil
}

// leave gives a place up; the last one releases the handle.
func (l *line) leave(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.waiters--; p.waiters == 0 {
		delete(l.held, p.name)
		p.h.Release()
	}
}
