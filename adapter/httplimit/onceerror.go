package httplimit

import (
	"errors"
	"net/http"
	"time"

	"github.com/tickgate/tickgate/idem"
)

const (
	// inFlightRetry is the longest Retry-After of a request whose first one is still
	// running. The lease may last longer, but most requests are over soon, and asking
	// again costs little.
	inFlightRetry = 5 * time.Second

	// fullRetry is when to come again to a store that is full: some record or other
	// expires all the time, and when is not known here.
	fullRetry = 10 * time.Second
)

// onceError is the answer to a request that the idempotency does not run.
func onceError(err error) *Error {
	own := (*Error)(nil)
	if errors.As(err, &own) {
		return own
	}
	e := &Error{Err: err}
	running := (*idem.InFlightError)(nil)
	switch {
	case errors.As(err, &running):
		e.Status, e.Code, e.Detail = http.StatusConflict, "idempotency_in_flight",
			"The first request with this idempotency key is still running."
		e.Retry = min(max(running.RetryAfter, time.Nanosecond), inFlightRetry)
	case errors.Is(err, idem.ErrMismatch):
		e.Status, e.Code, e.Detail = http.StatusUnprocessableEntity, "idempotency_key_reused",
			"The idempotency key was used before for another request."
	case errors.Is(err, ErrIDMissing):
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "idempotency_key_missing",
			"The request needs an idempotency key."
	case errors.Is(err, ErrIDInvalid):
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "idempotency_key_invalid",
			"The idempotency key must be given once, as one string of 1 to 256 bytes without control characters."
	case errors.Is(err, ErrBodyTooLarge):
		e.Status, e.Code, e.Detail = http.StatusRequestEntityTooLarge, "body_too_large",
			"The body of the request is too large."
	case errors.Is(err, ErrBodyInvalid):
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "body_invalid",
			"The body of the request must be one JSON object in UTF-8, without a content coding."
	case errors.Is(err, ErrBodySlow):
		e.Status, e.Code, e.Detail = http.StatusRequestTimeout, "body_slow",
			"The body of the request took too long to come."
	case errors.Is(err, ErrBodyRead):
		e.Status, e.Code, e.Detail = http.StatusBadRequest, "body_incomplete",
			"The body of the request ended too early."
	case errors.Is(err, ErrKeyMissing), errors.Is(err, ErrKeyInvalid):
		return limitError(err)
	case errors.Is(err, ErrNoEndpoint):
		e.Status, e.Code, e.Detail = http.StatusInternalServerError, "idempotency_failed",
			"The service could not tell what the request asks for."
	case errors.Is(err, idem.ErrFull):
		e.Status, e.Code, e.Detail = http.StatusServiceUnavailable, "idempotency_full",
			"The service has as many requests to remember as it can."
		e.Retry = fullRetry
	default:
		e.Status, e.Code, e.Detail = http.StatusServiceUnavailable, "idempotency_failed",
			"The service could not tell whether the request was made before."
	}
	return e
}
