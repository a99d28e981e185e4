package idem

import (
	"errors"
	"strconv"
	"time"
)

// Errors of [Store] and of every [Backend]. They may be wrapped: use errors.Is.
var (
	// ErrMismatch: the key is in use for a request with another fingerprint.
	ErrMismatch = errors.New("idem: this key was used for another request; use a new key")

	// ErrFull: there is no room for the record, and every record there is is live.
	// Nothing was dropped to make room.
	ErrFull = errors.New("idem: the store is full of live records; retry later or raise MaxRecords or MaxBytes")

	// ErrLost: the token does not hold its key any more. Its lease ran out and
	// another call got the key or the record was dropped, or the holder itself
	// released or completed it.
	ErrLost = errors.New("idem: the token does not hold its key any more; drop the result")
)

// InFlightError is returned by [Store.Begin] while another call holds the key.
type InFlightError struct {
	// RetryAfter is when the holder's lease runs out, from now: more than 0. Unless
	// it is extended, the key has a result or is free by then, and usually long
	// before.
	RetryAfter time.Duration
}

// Error returns one line that tells the longest wait.
func (e *InFlightError) Error() string {
	return "idem: the first call with this key is still running; retry within " + e.RetryAfter.String()
}

// ConfigError is one fault of a configuration. Constructors return all faults at
// once, joined by errors.Join; errors.As finds the first.
type ConfigError struct {
	Field  string // of the configuration
	Value  string // as given
	Reason string // what it must be
}

// Error returns one line.
func (e *ConfigError) Error() string {
	return "idem: " + e.Field + " = " + e.Value + ": " + e.Reason
}

// checkRange reports a field that lies outside 1 to most.
func checkRange(field string, value, most int64, unset string) error {
	if value >= 1 && value <= most {
		return nil
	}
	return &ConfigError{
		Field: field, Value: strconv.FormatInt(value, 10),
		Reason: "must be 1 to " + strconv.FormatInt(most, 10) + ", or 0 for " + unset,
	}
}

// checkSpan reports a duration that is not positive.
func checkSpan(field string, value, unset time.Duration) error {
	if value > 0 {
		return nil
	}
	return &ConfigError{Field: field, Value: value.String(), Reason: "must be positive, or 0 for " + unset.String()}
}
