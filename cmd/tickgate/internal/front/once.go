package front

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/idem"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// newStore makes the store of results.
func newStore(cfg *Config) (*quota, error) {
	o := cfg.Once
	own := idem.Config{Clock: cfg.Clock, TTL: o.TTL, MaxRecords: o.MaxRecords, MaxBytes: o.MaxBytes, Backend: o.Backend}
	if own.Backend != nil {
		own.MaxRecords, own.MaxBytes = 0, 0 // it has bounds of its own
	}
	store, err := idem.NewStore(own)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(o.MaxRecords, idem.DefaultMaxRecords)
	each := o.PerCaller
	if each == 0 {
		each = max(most/10, 2)
	}
	return newQuota(store, each, most, cfg.Clock)
}

// once puts the idempotency in front of next, for callers that are named: keys of
// nobody in particular would meet.
func (f *Front) once(cfg *Config, next http.Handler) (http.Handler, error) {
	if cfg.Once == nil {
		return next, nil
	}
	idempotency, err := httplimit.NewIdempotency(httplimit.IdempotencyConfig{
		Store: f.store, Scope: caller.Of, Endpoint: endpoint,
		Field: cfg.Once.Field, Missing: cfg.Once.Missing,
		MaxBody: cfg.Proxy.MaxBody, MaxResult: cfg.Once.MaxResult,
		Headers: append(httplimit.DefaultHeaders(), cfg.Once.Headers...),
		Error:   f.fail,
		Report: func(r *http.Request, err error) {
			cfg.Log.Error("the result of a request is not kept", "endpoint", endpoint(r), "error", err)
		},
	})
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if visit.Of(r).Caller == "" {
			next.ServeHTTP(w, r)
			return
		}
		idempotency.Wrap(http.HandlerFunc(func(inner http.ResponseWriter, r *http.Request) {
			if inner != w { // it is recorded, for retries
				ctx, done := outlast(r.Context(), cfg.Proxy.Timeout)
				defer done()
				r = r.WithContext(ctx)
			}
			next.ServeHTTP(inner, r)
		})).ServeHTTP(w, r.WithContext(f.store.within(r.Context())))
	}), nil
}

// outlast returns a context that goes on for up to more when parent is cancelled, as
// it is when the client has gone: the upstream may be at the request already, and its
// answer is what the retry is to get. It ends at once when another may be at it.
func outlast(parent context.Context, more time.Duration) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() {
		if cause := context.Cause(parent); errors.Is(cause, idem.ErrLost) {
			cancel(cause)
			return
		}
		last := time.NewTimer(more)
		defer last.Stop()
		select {
		case <-last.C:
			cancel(nil)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
