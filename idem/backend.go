package idem

import (
	"context"
	"time"
)

// Backend keeps a [Store]'s records. Each method is one atomic step on one key, so
// that a backend on a server needs one script call for it and no clock but the
// server's: times come as spans from now. [Memory] is the one that a Store makes
// for itself.
//
// All methods may be called by any number of goroutines at once. An error that is
// none of this package's means that the backend could not be asked, and that what
// was to be done may or may not have been.
type Backend interface {
	// Begin gives key to the caller for lease, if it is free: without a record, or
	// with one in flight whose lease ran out. Otherwise it tells what is there and
	// changes nothing. It returns ErrFull where there is no room for one more
	// record; it never drops a live record to make some.
	Begin(ctx context.Context, key Key, print Fingerprint, lease time.Duration) (Entry, error)

	// Complete keeps value for ttl as the result of the token's key, which is then
	// done. It returns ErrLost if the token does not hold the key, ErrFull if there
	// is no room for value, and the key stays in flight. A token that completed its
	// key already gets nil, and the first value stays. Complete owns value.
	Complete(ctx context.Context, token Token, value []byte, ttl time.Duration) error

	// Release frees the token's key, without a result. It returns ErrLost if the
	// token does not hold the key, or completed it.
	Release(ctx context.Context, token Token) error

	// Extend makes the lease of the token's key end lease from now. It returns
	// ErrLost if the token does not hold the key, or completed it.
	Extend(ctx context.Context, token Token, lease time.Duration) error
}

// State says what Begin found.
type State uint8

// The states of an [Entry].
const (
	Acquired State = iota + 1 // the key was free: the caller has it now
	InFlight                  // another token holds it
	Done                      // it has a result
	Mismatch                  // it is in flight or done, for another fingerprint
)

func (s State) String() string {
	switch s {
	case Acquired:
		return "acquired"
	case InFlight:
		return "in-flight"
	case Done:
		return "done"
	case Mismatch:
		return "mismatch"
	}
	return "invalid"
}

// Entry is a backend's answer to Begin.
type Entry struct {
	State State
	Token Token         // Acquired: the caller's
	Value []byte        // Done: what was given to Complete; not to be changed
	After time.Duration // InFlight: until the lease runs out
}
