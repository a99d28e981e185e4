package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// net/http sets seven deadlines for every request that has a body and time-outs, most of
// them later than one that stands, and takes them off again: each is a timer of the
// runtime's, together some 4 % of what a short request costs. A conn sets a timer only
// where the new deadline is earlier than the one that stands. A timer that is too early
// for what is wanted by then is noticed when it fires, and set anew.

// lazy makes connections that seldom set timers. slack is by how much the deadline for the
// next request, which a connection gets when one is answered, may be set too early: by as
// much as the deadline for its coming is earlier, it need not be set again for that.
type lazy struct {
	net.Listener
	slack time.Duration
}

// Accept implements [net.Listener].
func (l lazy) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(c, l.slack), nil
}

// conn is a connection with lazy deadlines. As with any, its methods may be called by
// several goroutines at once.
type conn struct {
	net.Conn
	read, write deadline
}

func newConn(c net.Conn, slack time.Duration) *conn {
	return &conn{Conn: c, read: deadline{set: c.SetReadDeadline, slack: slack}, write: deadline{set: c.SetWriteDeadline}}
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err == nil || n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.read.over() {
			return n, err
		}
	}
}

// Write implements [net.Conn].
func (c *conn) Write(p []byte) (n int, err error) {
	for {
		m, err := c.Conn.Write(p[n:])
		if n += m; err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.write.over() {
			return n, err
		}
	}
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error { return c.read.want(t) }

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error { return c.write.want(t) }

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error { return errors.Join(c.read.want(t), c.write.want(t)) }

// CloseWrite ends what is written, and leaves open what is read: net/http does that before
// it closes, so that the client reads the last answer.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// deadline is one of a connection's two.
type deadline struct {
	set   func(time.Time) error
	slack time.Duration

	mu     sync.Mutex
	wanted time.Time // zero: none
	timer  time.Time // what set was told last; not after wanted, if that is not zero
	past   bool      // timer is long over: to wake up a reader
}

// want changes the deadline to t, zero for none.
func (d *deadline) want(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	switch {
	case t.IsZero():
		return nil
	case t.Equal(longAgo):
		d.past = true
	case d.past:
		d.past = false
		t = t.Add(-d.slack)
	case !d.timer.IsZero() && !t.Before(d.timer):
		return nil
	}
	d.timer = t
	return d.set(t)
}

// longAgo is the deadline by which net/http wakes up a reader.
var longAgo = time.Unix(1, 0)

// over tells, when the timer has fired, whether the deadline is over; if not, the timer is
// set for it.
func (d *deadline) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && !time.Now().Before(d.wanted) {
		return true
	}
	d.timer, d.past = d.wanted, false
	return d.set(d.wanted) != nil
}
