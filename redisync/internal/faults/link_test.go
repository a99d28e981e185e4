//go:build linux

package faults

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const evalPing = "*2\r\n$7\r\nEVALSHA\r\n$1\r\nx\r\n"

// counter is a server that answers every request with how many it has seen.
type counter struct {
	net.Listener
	seen atomic.Int64
}

func serve(t *testing.T) *counter {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &counter{Listener: listener}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					if _, err := readMessage(r, nil); err != nil {
						return
					}
					fmt.Fprintf(c, ">1\r\n+noise\r\n:%d\r\n", s.seen.Add(1))
				}
			}()
		}
	}()
	return s
}

func linkTo(t *testing.T, targets ...string) *Link {
	l, err := NewLink(1, targets...)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

type client struct {
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, l *Link) *client {
	c, err := net.Dial("tcp", l.Addrs()[0])
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(5*time.Second)))
	return &client{c, bufio.NewReader(c)}
}

// send writes n calls at once.
func (c *client) send(t *testing.T, n int) {
	for range n {
		_, err := c.Write([]byte(evalPing))
		require.NoError(t, err)
	}
}

// reply reads the next reply that is no push.
func (c *client) reply() (string, error) {
	for {
		m, err := readMessage(c.r, nil)
		if err != nil || !isPush(m) {
			return string(m), err
		}
	}
}

func (c *client) call(t *testing.T) (string, error) {
	c.send(t, 1)
	return c.reply()
}

func TestLinkPassesMessages(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	c := dial(t, l)
	c.send(t, 100)
	for i := range 100 {
		m, err := c.reply()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(":%d\r\n", i+1), m)
	}
	require.Equal(t, Counts{Connections: 1, Calls: 100}, l.Counts())
}

func TestLinkLosesRequests(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	c := dial(t, l)
	_, err := c.call(t)
	require.NoError(t, err)
	l.LoseNext(1, 0)
	_, err = c.call(t)
	require.Error(t, err)
	require.Equal(t, int64(1), s.seen.Load(), "a lost request is not executed")

	c = dial(t, l)
	m, err := c.call(t)
	require.NoError(t, err)
	require.Equal(t, ":2\r\n", m)
	require.Equal(t, Counts{Connections: 2, Calls: 3, LostRequests: 1, Resets: 1}, l.Counts())
}

func TestLinkLosesReplies(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	l.LoseNext(0, 1)
	_, err := dial(t, l).call(t)
	require.Error(t, err)
	require.Equal(t, int64(1), s.seen.Load(), "a lost reply is of a request that was executed")
	require.Equal(t, Counts{Connections: 1, Calls: 1, LostReplies: 1, Resets: 1}, l.Counts())
}

// The replies before a loss arrive, and nothing after it does.
func TestLinkLosesInTheMiddleOfAPipeline(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, request := range []bool{true, false} {
			t.Run(fmt.Sprintf("silent=%v/request=%v", silent, request), func(t *testing.T) {
				s := serve(t)
				l := linkTo(t, s.Addr().String())
				l.Set(Faults{Silent: silent, Delay: 20 * time.Millisecond})
				c := dial(t, l)
				c.send(t, 3)
				require.Eventually(t, func() bool { return l.Counts().Calls == 3 }, time.Second, time.Millisecond)
				if request {
					l.LoseNext(1, 0)
				} else {
					l.LoseNext(0, 1)
				}
				c.send(t, 4)
				for i := range 3 {
					m, err := c.reply()
					require.NoError(t, err)
					require.Equal(t, fmt.Sprintf(":%d\r\n", i+1), m)
				}
				require.NoError(t, c.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
				_, err := c.reply()
				require.Error(t, err)
				require.Equal(t, silent, errors.Is(err, os.ErrDeadlineExceeded), "%v", err)
				if request {
					require.Equal(t, int64(3), s.seen.Load())
				} else {
					require.GreaterOrEqual(t, s.seen.Load(), int64(4))
				}
				c.Close()
				require.Eventually(t, func() bool { return len(l.all()) == 0 }, time.Second, time.Millisecond, "the connection is not let go")
			})
		}
	}
}

func TestLinkLosesInProportion(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	l.Set(Faults{LoseRequest: 0.2, LoseReply: 0.3})
	const calls = 400
	for range calls {
		c := dial(t, l)
		c.call(t)
		c.Close()
	}
	n := l.Counts()
	require.InDelta(t, 0.2, float64(n.LostRequests)/calls, 0.08)
	require.InDelta(t, 0.3, float64(n.LostReplies)/calls, 0.08)
	require.Equal(t, int64(calls-n.LostRequests), s.seen.Load())
}

func TestLinkLosesOnlyCalls(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	l.Set(Faults{LoseRequest: 1})
	c := dial(t, l)
	c.Write([]byte("*1\r\n$4\r\nPING\r\n*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"))
	_, err := c.reply()
	require.NoError(t, err)
	_, err = c.reply()
	require.NoError(t, err)
	_, err = c.call(t)
	require.Error(t, err)
}

func TestLinkDelaysWithoutOvertaking(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	c := dial(t, l)
	l.Set(Faults{Delay: 15 * time.Millisecond, Jitter: 10 * time.Millisecond})
	begun := time.Now()
	c.send(t, 20)
	for i := range 20 {
		m, err := c.reply()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(":%d\r\n", i+1), m)
	}
	took := time.Since(begun)
	require.GreaterOrEqual(t, took, 30*time.Millisecond)
	require.Less(t, took, 400*time.Millisecond, "delays of one direction run at the same time")
}

func TestLinkHoldsAndHeals(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	c := dial(t, l)

	l.Hold(true, true)
	l.Hold(true, true) // again changes nothing
	c.send(t, 1)
	time.Sleep(20 * time.Millisecond)
	require.Zero(t, s.seen.Load())
	d := dial(t, l)
	d.send(t, 1)
	require.NoError(t, d.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err := d.reply()
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a new connection is held, too")
	c.Close() // gives up; what it sent still arrives
	l.Heal()
	require.Eventually(t, func() bool { return s.seen.Load() == 2 }, time.Second, time.Millisecond)

	l.Hold(false, true)
	c = dial(t, l)
	c.send(t, 1)
	require.Eventually(t, func() bool { return s.seen.Load() == 3 }, time.Second, time.Millisecond)
	l.Heal()
	m, err := c.reply()
	require.NoError(t, err)
	require.Equal(t, ":3\r\n", m)

	l.Hold(true, false)
	c.send(t, 1)
	require.Eventually(t, func() bool { return l.Counts().Calls == 4 }, time.Second, time.Millisecond)
	l.Reset()
	l.Heal()
	_, err = c.reply()
	require.Error(t, err)
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, int64(3), s.seen.Load(), "a reset loses what was held")
}

func TestLinkToNobody(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	s.Close()
	_, err := dial(t, l).reply()
	require.Error(t, err)
	l.Close()
	_, err = net.Dial("tcp", l.Addrs()[0])
	require.Error(t, err)
}

// A client of a cluster stays on the link, whatever the cluster says.
func TestLinkNamesItselfForACluster(t *testing.T) {
	l := linkTo(t, "127.0.0.1:12001", "127.0.0.1:12002")
	one, two := l.Addrs()[0], l.Addrs()[1]
	_, port, _ := net.SplitHostPort(two)
	require.Equal(t, "-MOVED 12001 "+one+"\r\n", string(l.redirected([]byte("-MOVED 12001 127.0.0.1:12001\r\n"))))
	require.Equal(t, "-ASK 7 "+two+"\r\n", string(l.redirected([]byte("-ASK 7 127.0.0.1:12002\r\n"))))
	require.Equal(t, "+MOVED 127.0.0.1:12001\r\n", string(l.redirected([]byte("+MOVED 127.0.0.1:12001\r\n"))))
	require.Equal(t,
		"*1\r\n*3\r\n:0\r\n:12002\r\n*2\r\n$9\r\n127.0.0.1\r\n:"+port+"\r\n",
		string(l.renamed([]byte("*1\r\n*3\r\n:0\r\n:12002\r\n*2\r\n$9\r\n127.0.0.1\r\n:12002\r\n"))), "a slot is no port")
	require.Equal(t, "$4\r\nport\r\n:"+port+"\r\n", string(l.renamed([]byte("$4\r\nport\r\n:12002\r\n"))))
}

func TestLinkMixesCommandsInOrder(t *testing.T) {
	s := serve(t)
	l := linkTo(t, s.Addr().String())
	c := dial(t, l)
	c.Write([]byte("*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n"))
	c.send(t, 2)
	for i := range 3 {
		m, err := c.reply()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(":%d\r\n", i+1), m)
	}
}
