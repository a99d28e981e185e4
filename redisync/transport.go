package redisync

import (
	"context"
	"errors"
)

// Call is one call of the script.
type Call struct {
	Key  string
	Mark string   // the second key of a lease, in the same slot; else ""
	Args []string // from the Args methods; not to be changed once it was sent: a call that was given up may be written later
}

// Reply is the reply to a Call: Values if Err is nil.
type Reply struct {
	Values []int64
	Err    error
}

// Transport sends calls to Redis. Its methods may be called from any goroutine.
//
// Every error matches one class by errors.Is. Only ErrUnknown may have been
// executed; no call of that kind is ever sent again by the transport.
type Transport interface {
	// Sync sends calls pipelined and fills in every reply, in order. It returns
	// by ctx's deadline, which it must have, and keeps neither slice. A script
	// that Redis does not know is sent along at a second try, unseen.
	Sync(ctx context.Context, calls []Call, replies []Reply)
	// Call sends one call on a connection apart, which pipelines do not delay, and
	// returns by ctx's deadline, which it must have.
	Call(ctx context.Context, call Call) Reply
	// Close closes the connections. Calls under way end with ErrUnknown.
	Close()
}

var (
	// ErrUnknown: the call may have been executed or not: no reply came.
	ErrUnknown = errors.New("redis did not answer; the call may have been executed")
	// ErrDown: the call was not sent: there is no connection.
	ErrDown = errors.New("redis cannot be reached")
	// ErrMoved: the key is being moved, or its slot is not served at present.
	// Worth another try soon.
	ErrMoved = errors.New("the key's slot is being moved or not served")
	// ErrReadOnly: the server is a replica. After a failover another try reaches
	// the new master.
	ErrReadOnly = errors.New("redis is a read-only replica")
	// ErrBusy: the server refuses for now: it loads its data, runs a long script,
	// is out of memory, or lacks its replicas.
	ErrBusy = errors.New("redis refuses for now")
	// ErrRefused: the server refuses, and would again: permissions, a key of
	// another type, a command that is not there.
	ErrRefused = errors.New("redis refuses")
)
