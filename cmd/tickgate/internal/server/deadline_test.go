package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// counted counts the timers that are set on a connection.
type counted struct {
	net.Conn
	reads, writes int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *counted) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

func pipe(t *testing.T, slack time.Duration) (*conn, *counted, net.Conn) {
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	c := &counted{Conn: here}
	return newConn(c, slack), c, there
}

// A reader waits exactly as long as the last deadline says, whatever stood before.
func TestDeadlinesAreKept(t *testing.T) {
	for _, slack := range []time.Duration{0, time.Minute} {
		for name, set := range map[string]func(*conn){
			"one": func(c *conn) { _ = c.SetReadDeadline(time.Now().Add(3 * time.Second)) },
			"later": func(c *conn) {
				_ = c.SetDeadline(time.Now().Add(1))
				_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			},
			"earlier": func(c *conn) {
				_ = c.SetDeadline(time.Now().Add(time.Hour))
				_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			},
			"taken off, and again": func(c *conn) {
				_ = c.SetDeadline(time.Now().Add(1))
				_ = c.SetDeadline(time.Time{})
				_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			},
			"after a wake-up": func(c *conn) {
				_ = c.SetDeadline(longAgo)
				_ = c.SetDeadline(time.Time{})
				_ = c.SetDeadline(time.Now().Add(3 * time.Second))
			},
			"past, otherwise": func(c *conn) { _ = c.SetDeadline(time.Unix(2, 0)); _ = c.SetDeadline(time.Now().Add(3 * time.Second)) },
		} {
			for _, write := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					c, _, there := pipe(t, slack)
					set(c)
					begun := time.Now()
					var err error
					if write {
						_ = c.SetWriteDeadline(c.read.wanted)
						go func() { _, _ = io.ReadFull(there, make([]byte, 2)) }() // and stops
						var n int
						n, err = c.Write([]byte("four"))
						require.Equal(t, 2, n)
					} else {
						_, err = c.Read(make([]byte, 1))
					}
					require.ErrorIs(t, err, os.ErrDeadlineExceeded, name)
					require.Equal(t, 3*time.Second, time.Since(begun), "%s, %v, %v", name, slack, write)
				})
			}
		}
	}
}

// None stays none, though a timer fires that stood before; and a reader that waits is woken.
func TestReaderIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := pipe(t, time.Minute)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_ = c.SetReadDeadline(time.Time{})
		ended := make(chan error)
		go func() {
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("the reader ended: %v", err)
		default:
		}
		_ = c.SetReadDeadline(longAgo)
		require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
	})
}

// A request on a connection that stays costs two timers: to wake up its reader, and for
// the next one.
func TestTimersOfARequest(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted := make(chan *counted, 1)
	counting := listenerFunc{l, func(c net.Conn) net.Conn {
		n := &counted{Conn: c}
		accepted <- n
		return n
	}}
	s := &http.Server{
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Hour,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
	}
	go func() { _ = s.Serve(lazy{counting, time.Hour - time.Minute}) }()
	defer func() { require.NoError(t, s.Close()) }()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	answers := bufio.NewReader(c)
	ask := func() {
		_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
		require.NoError(t, err)
		res, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, "hi", string(text))
	}
	ask()
	n := <-accepted
	const requests = 100
	for range requests {
		ask()
	}
	require.NoError(t, s.Close())
	require.LessOrEqual(t, n.reads, 2*requests+8)
	require.LessOrEqual(t, n.writes, 4)
}

// listenerFunc changes what a listener accepts.
type listenerFunc struct {
	net.Listener
	change func(net.Conn) net.Conn
}

func (l listenerFunc) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.change(c), nil
}

func TestHalfClose(t *testing.T) {
	c, _, _ := pipe(t, 0)
	require.ErrorIs(t, c.CloseWrite(), errors.ErrUnsupported)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		c, err := lazy{Listener: l}.Accept()
		if err == nil {
			_, _ = io.WriteString(c, "last")
			_ = c.(*conn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	there, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer func() { _ = there.Close() }()
	var got strings.Builder
	_, err = io.Copy(&got, there)
	require.NoError(t, err)
	require.Equal(t, "last", got.String())
}
