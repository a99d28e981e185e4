package httplimit

import (
	"errors"
	"net/http"
	"time"

	"github.com/tickgate/tickgate/idem"
)

// onceError is the answer to a request that the idempotency does not run.
func onceError(err error) *Error {
	e := &Error{Err: err}
	running := (*idem.InFlightError)(nil)
	switch {
	case errors.As(err, &running):
		e.Status, e.Code, e.Detail = http.StatusConflict, "idempotency_in_flight",
			"The first request with this idempotency key is still running."
		e.Retry = max(running.RetryAfter, time.Nanosecond)
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
	default:
		e.Status, e.Code, e.Detail = http.StatusServiceUnavailable, "idempotency_failed",
			"The service could not tell whether the request was made before."
	}
	return e
}
