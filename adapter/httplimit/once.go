package httplimit

import (
	"context"
	"errors"
	"net/http"

	"github.com/tickgate/tickgate/idem"
)

// Wrap returns next behind the idempotency: run for the first request of a key, while
// its retries get
//
//	its result, with Idempotent-Replayed: true   once it is there
//	409 and Retry-After                          while it is made
//	422                                          if they say something else
//
// The first response goes out as the handler writes it; a copy is kept. It is a result
// if its status is 2xx, 3xx or 4xx, except 401, 403, 407, 408, 425 and 429: who is let in
// later must not be told for a day that they are not. After any other, after a panic, if the connection was hijacked, and if nothing was written for a client that
// is gone, a retry runs the handler again.
//
// The handler's context is cancelled when the claim is lost, which means that another
// may be at it. A handler with a time-out is better wrapped by it outside: then the
// result of what went on after the time-out is kept for the retry.
func (m *Idempotency) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := m.identify(w, r)
		if err != nil {
			m.cfg.Error(w, r, onceError(err))
			return
		}
		if !id.guarded {
			if id.request == r {
				next.ServeHTTP(w, r)
			} else {
				handOn(next, w, r, id.request)
			}
			return
		}
		claim, err := m.cfg.Store.Begin(r.Context(), id.key, id.fingerprint)
		switch {
		case err != nil:
			m.cfg.Error(w, r, onceError(err))
		case !claim.Acquired:
			giveBack(r.Context())
			m.replay(w, claim.Result)
		default:
			m.run(w, r, id.request, next, claim.Token)
		}
	})
}

// run runs the handler under a claim.
func (m *Idempotency) run(w http.ResponseWriter, made, r *http.Request, next http.Handler, token idem.Token) {
	ctx, cancel := context.WithCancelCause(r.Context())
	// What is kept must not depend on whether the client is still there.
	keeping := context.WithoutCancel(r.Context())
	l := lease{every: m.cfg.ExtendEvery, timer: m.cfg.Timer, extend: func() bool {
		err := m.cfg.Store.Extend(keeping, token)
		if errors.Is(err, idem.ErrLost) {
			cancel(err)
			return false
		}
		return true // a store that failed may be back before the lease is over
	}}
	l.begin()
	rec := &recorder{w: w, headers: m.cfg.Headers, most: m.cfg.MaxResult}
	returned := false
	// No recover: a panic goes on as it came, with its own stack.
	defer func() {
		l.end()
		if rec.status == 0 && returned && ctx.Err() == nil {
			rec.note(http.StatusOK) // as the server will
		}
		if err := m.settle(keeping, token, m.outcome(rec, r.Method, returned)); err != nil {
			m.cfg.Report(made, err)
		}
		cancel(nil)
	}()
	handOn(next, rec, made, r.WithContext(ctx))
	returned = true
}

// outcome is the result to keep; without a status it is none.
func (m *Idempotency) outcome(rec *recorder, method string, returned bool) idem.Result {
	switch s := rec.status; {
	case rec.hijacked:
		return idem.Result{}
	case !returned:
		if m.cfg.KeepServerErrors {
			return lostResult(http.StatusInternalServerError, "handler_failed",
				"The request failed, and is not tried again.")
		}
		return idem.Result{}
	case s < 200, passing(s):
		return idem.Result{}
	case s >= 500 && !m.cfg.KeepServerErrors:
		return idem.Result{}
	case rec.short(method):
		return idem.Result{} // the client has seen a broken response, and so would its retry
	case rec.over:
		return tooLong
	}
	return rec.result()
}

// passing reports whether a status is about the moment or about who asks, and not about
// what was asked for: nothing was done, and the same request may fare better.
func passing(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}

// settle ends a claim: with a result, or by letting go of it.
func (m *Idempotency) settle(ctx context.Context, token idem.Token, result idem.Result) error {
	if result.Status == 0 {
		return m.cfg.Store.Release(ctx, token)
	}
	err := m.cfg.Store.Complete(ctx, token, result)
	if errors.Is(err, idem.ErrFull) {
		// That it was done must be kept, if the result cannot.
		if second := m.cfg.Store.Complete(ctx, token, tooLong); second != nil {
			return errors.Join(err, second)
		}
	}
	return err
}
