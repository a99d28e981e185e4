package httplimit

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/tickgate/tickgate"
)

// MissingKey says what happens to a request that names no caller. One that names its
// caller in a way that cannot be used is not among them: it is answered with 400.
type MissingKey uint8

const (
	// FailClosed answers it with 401.
	FailClosed MissingKey = iota + 1

	// FailOpen lets it pass, without any limit.
	FailOpen
)

// LimitConfig says what a Limiter is made of.
type LimitConfig struct {
	// Gate decides. Its policies are found by the endpoint.
	Gate *tickgate.Gate

	// Key names who asks. There is no default.
	Key KeyFunc

	// OnMissing says what happens when nobody is named. It must be chosen.
	OnMissing MissingKey

	// Endpoint names what is asked for. nil: PatternEndpoint.
	Endpoint EndpointFunc

	// Cost is the tokens a request takes: 0 looks without taking, less is answered
	// with 500. nil: 1 for each.
	Cost func(r *http.Request) int64

	// Headers says which headers tell callers of their limits. Zero: IETF.
	Headers HeaderMode

	// Deny answers what does not pass. nil: WriteDenial.
	Deny DenyHandler

	// Error answers what cannot be decided. nil: WriteError.
	Error ErrorHandler

	// RefundReplays gives the tokens of a request back when an Idempotency inside
	// answers it with the result of before. Then retries of what was done cost
	// nothing, however many come.
	RefundReplays bool
}

// Limiter asks a gate for every request. Make one with [NewLimiter].
type Limiter struct {
	cfg      LimitConfig
	standard bool // denials are answered by WriteDenial
	book     book
}

// NewLimiter makes a limiter. It reports every fault of the configuration at once,
// each a [*tickgate.ConfigError].
func NewLimiter(cfg LimitConfig) (*Limiter, error) {
	standard := cfg.Deny == nil
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &Limiter{cfg: cfg, standard: standard}
	l.book.gate = cfg.Gate
	return l, nil
}

// check completes a configuration and reports every fault of it.
func (c *LimitConfig) check() error {
	var f faults
	if c.Gate == nil {
		f.add("Gate", "nil", "must be a gate of tickgate.New")
	}
	if c.Key == nil {
		f.add("Key", "nil", "must name the caller that was authenticated; a client's address is not one")
	}
	if c.OnMissing != FailClosed && c.OnMissing != FailOpen {
		f.add("OnMissing", strconv.Itoa(int(c.OnMissing)), "must be chosen: FailClosed answers requests that name no caller with 401, FailOpen lets them pass without a limit")
	}
	if c.Headers > None {
		f.add("Headers", c.Headers.String(), "must be IETF, Legacy, Both or None")
	}
	if c.Endpoint == nil {
		c.Endpoint = PatternEndpoint
	}
	if c.Deny == nil {
		c.Deny = WriteDenial
	}
	if c.Error == nil {
		c.Error = WriteError
	}
	return f.err()
}

// faults are those of a configuration.
type faults []error

func (f *faults) add(field, value, reason string) {
	*f = append(*f, &tickgate.ConfigError{Field: field, Value: value, Reason: reason})
}

func (f faults) err() error { return errors.Join(f...) }

// Wrap returns next behind the limiter. It hands the request and the ResponseWriter
// on as they are. A decision costs what [tickgate.Gate.Take] does; telling of it costs
// two allocations, and none with [None].
func (l *Limiter) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, err := l.cfg.Key.caller(r)
		if err != nil {
			if err == ErrKeyMissing && l.cfg.OnMissing == FailOpen {
				next.ServeHTTP(w, r)
				return
			}
			l.cfg.Error(w, r, limitError(err))
			return
		}
		endpoint := l.cfg.Endpoint(r)
		if endpoint == "" {
			l.cfg.Error(w, r, limitError(ErrNoEndpoint))
			return
		}
		cost := int64(1)
		if l.cfg.Cost != nil {
			cost = l.cfg.Cost(r)
		}
		d := l.cfg.Gate.Take(key, endpoint, cost)
		if !d.Allowed {
			l.refuse(w, r, endpoint, &d)
			return
		}
		if l.cfg.Headers != None {
			l.tell(w.Header(), endpoint, &d)
		}
		if l.cfg.RefundReplays && cost > 0 {
			handOn(next, w, r, withTicket(r, &ticket{gate: l.cfg.Gate, key: key, endpoint: endpoint, decision: d}))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// tell says what is left of what was allowed.
func (l *Limiter) tell(h http.Header, endpoint string, d *tickgate.Decision) {
	p := l.book.page(endpoint)
	n := p.line(d.Limit)
	if n == nil && p.header == "" {
		return // there is no limit
	}
	v := makeValues(l.cfg.Headers.fields())
	l.cfg.Headers.write(h, p, n, d, 0, &v)
}

// refuse answers what was not allowed.
func (l *Limiter) refuse(w http.ResponseWriter, r *http.Request, endpoint string, d *tickgate.Decision) {
	p := l.book.page(endpoint)
	n := p.line(d.Limit)
	retry := retrySeconds(d.RetryAfter)
	h := w.Header()
	v := makeValues(l.cfg.Headers.fields() + fieldsOfDenial)
	l.cfg.Headers.write(h, p, n, d, retry, &v)
	switch d.Reason {
	case tickgate.NoPolicy:
		l.cfg.Error(w, r, limitError(tickgate.ErrNoPolicy))
		return
	case tickgate.Full:
		l.cfg.Error(w, r, limitError(tickgate.ErrFull))
		return
	case tickgate.BadRequest:
		l.cfg.Error(w, r, limitError(ErrBadDecision))
		return
	}
	if retry > 0 {
		h[headerRetry] = v.list(integer(retry))
	}
	if l.standard {
		denial := newDenial(d, endpoint, retry, n) // on the stack: WriteDenial keeps nothing
		writeDenial(w, r, &denial, &v)
		return
	}
	h[headerCache] = v.list("no-store")
	denial := newDenial(d, endpoint, retry, n)
	l.cfg.Deny(w, r, &denial)
}
