package httplimit

import (
	"errors"
	"net/http"
	"time"

	"github.com/tickgate/tickgate"
)

// What an [Error] wraps.
var (
	ErrKeyMissing  = errors.New("httplimit: the request names no caller")
	ErrKeyInvalid  = errors.New("httplimit: the request does not name its caller by one key of at most 256 bytes without control characters")
	ErrNoEndpoint  = errors.New("httplimit: no endpoint for the request: wrap handlers inside the mux, or set Endpoint to MuxEndpoint(mux)")
	ErrBadDecision = errors.New("httplimit: the gate refused the question: the cost is negative or the endpoint is over 256 bytes")

	ErrIDMissing    = errors.New("httplimit: the request has no idempotency key")
	ErrIDInvalid    = errors.New("httplimit: the idempotency key is malformed")
	ErrBodyTooLarge = errors.New("httplimit: the request's body is too large")
	ErrBodyInvalid  = errors.New("httplimit: the request's body is not the JSON object that its idempotency key is read from")
	ErrBodyRead     = errors.New("httplimit: the request's body could not be read to its end")
	ErrBodySlow     = errors.New("httplimit: the request's body did not come within the server's time for it")
)

// Error is a request that a middleware answers by itself, a denial by a limit
// excepted. Code and Detail are fixed: nothing that a client sent is in them.
type Error struct {
	Status int           // of the answer
	Code   string        // for programs: "idempotency_key_reused"
	Detail string        // for people: one sentence
	Retry  time.Duration // of Retry-After, rounded up; 0 for none
	Err    error         // what happened
}

// Error returns what happened, in one line.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// ErrorHandler answers a request that cannot be decided. Headers about limits are set
// already; Retry-After is not.
type ErrorHandler func(w http.ResponseWriter, r *http.Request, e *Error)

// limitError is the answer to a request that the limiter cannot decide.
func limitError(err error) *Error {
	own := (*Error)(nil)
	if errors.As(err, &own) {
		return own
	}
	e := &Error{Err: err}
	switch {
	case errors.Is(err, ErrKeyMissing):
		e.Status, e.Code, e.Detail = http.StatusUnauthorized, "caller_unknown", "The request does not say who makes it."
	case errors.Is(err, ErrKeyInvalid):
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "caller_invalid",
			"What says who makes the request must be one key, of 1 to 256 bytes and without control characters."
	case errors.Is(err, tickgate.ErrFull):
		e.Status, e.Code, e.Detail = http.StatusServiceUnavailable, "limiter_full",
			"The service has as many callers as it can take."
	default:
		e.Status, e.Code, e.Detail = http.StatusInternalServerError, "limiter_failed",
			"The service could not tell whether the request is within its limits."
	}
	return e
}
