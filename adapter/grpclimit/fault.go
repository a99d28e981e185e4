package grpclimit

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrNoKey is the fault of a call for which Key returned an empty key.
var ErrNoKey = errors.New("no key: Config.Key returned an empty one")

// errNoMethod is the fault of [Server.Limit] where grpc does not say what is called.
var errNoMethod = errors.New("the context is not that of a gRPC server's call")

// Fault is a call that could not be decided. It is an error with a gRPC status: Code
// and a text that does not tell why, since Err may name the key.
type Fault struct {
	FullMethod string

	// Code is INTERNAL, or INVALID_ARGUMENT where what the caller sent may be at fault: a
	// key or an endpoint over 256 bytes, a negative cost.
	Code codes.Code

	// Err is ErrNoKey, the error of Key, tickgate.ErrNoPolicy, tickgate.ErrKey or
	// tickgate.ErrCost.
	Err error
}

// Error says why, for the server's own log.
func (f *Fault) Error() string { return "grpclimit: " + f.Err.Error() }

// Unwrap returns Err.
func (f *Fault) Unwrap() error { return f.Err }

// GRPCStatus is what the caller is told.
func (f *Fault) GRPCStatus() *status.Status {
	if f.Code == codes.InvalidArgument {
		return status.New(f.Code, "rate limit: the key or the method is over 256 bytes, or the cost is negative")
	}
	return status.New(f.Code, "rate limit: the call could not be checked")
}

// FailClosed answers with the fault's own status, INTERNAL as a rule.
func FailClosed(_ context.Context, f *Fault) error { return f }

// FailOpen lets pass what could not be decided, unlimited. A fault that the caller may
// have brought about to that end, one with INVALID_ARGUMENT, is answered all the same.
// Mind that a caller without a key passes too.
func FailOpen(_ context.Context, f *Fault) error {
	if f.Code == codes.InvalidArgument {
		return f
	}
	return nil
}
