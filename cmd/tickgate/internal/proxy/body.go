package proxy

import (
	"errors"
	"io"
	"sync/atomic"
)

// errTooLarge is what reading a body that is too long ends with.
var errTooLarge = errors.New("proxy: the body of the request is too large")

// body is that of a request, up to a length. It notes what it ended with, since a
// transport that fails does not tell a client's fault from an upstream's. While the
// client is waited for the upstream is not.
type body struct {
	from  io.ReadCloser
	left  int64 // only for the reader
	watch *watch
	err   atomic.Pointer[error] // written by the reader, which may outlive the request; nil but for faults
}

// Read is for one goroutine at a time.
func (b *body) Read(p []byte) (int, error) {
	if err := b.fault(); err != nil {
		return 0, err
	}
	b.watch.pause()
	defer b.watch.resume()
	if int64(len(p)) > b.left { // one byte more tells whether it is too long
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), errTooLarge
	}
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		b.err.Store(&err)
	}
	return n, err
}

// fault returns what reading ended with, nil if there was no fault.
func (b *body) fault() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close is not needed: the body is the server's to close.
func (b *body) Close() error { return nil }
