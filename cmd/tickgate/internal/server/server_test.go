package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/logtest"
)

// long is a time-out that no test waits for.
const long = time.Minute

// running is a server under test.
type running struct {
	address string
	stop    context.CancelFunc
	ended   chan error
	log     *logtest.Lines
}

func start(t *testing.T, h http.HandlerFunc, change func(*Config)) *running {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &running{address: listener.Addr().String(), ended: make(chan error, 1), log: &logtest.Lines{}}
	cfg := Config{
		Handler: h, MaxHeader: 4096,
		ReadTimeout: long, WriteTimeout: long, IdleTimeout: long, ShutdownTimeout: long,
		Log: slog.New(slog.NewTextHandler(s.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	t.Cleanup(s.stop)
	go func() { s.ended <- Run(ctx, listener, cfg) }()
	return s
}

// dial opens a connection and sends text.
func (s *running) dial(t *testing.T, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn, bufio.NewReader(conn)
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func answer(t *testing.T, in *bufio.Reader) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(text)
}

// TestRequestsUnderWayEnd: the listener is closed, and what has begun goes on.
func TestRequestsUnderWayEnd(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	var order []string
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-goOn
		order = append(order, "request")
		fmt.Fprint(w, "whole")
	}, func(c *Config) {
		c.Workers = []func(context.Context){func(ctx context.Context) {
			<-ctx.Done()
			order = append(order, "worker")
		}}
	})
	_, in := s.dial(t, get)
	<-begun
	s.stop()
	require.Eventually(t, func() bool { // the listener closes in another goroutine
		conn, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, long, time.Millisecond)
	require.Empty(t, s.ended)
	close(goOn)
	res, text := answer(t, in)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "whole", text)
	require.NoError(t, <-s.ended)
	require.Equal(t, []string{"request", "worker"}, order)
	require.Contains(t, s.log.String(), `msg="shutting down" requests=1`)
}

func TestRequestsThatTakeTooLongAreCutOff(t *testing.T) {
	begun, cancelled := make(chan struct{}), make(chan struct{})
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(cancelled)
	}, func(c *Config) { c.ShutdownTimeout = 10 * time.Millisecond })
	_, in := s.dial(t, get)
	<-begun
	s.stop()
	require.ErrorContains(t, <-s.ended, "requests cut off at the end: 1, which took longer than the 10ms")
	<-cancelled
	_, err := http.ReadResponse(in, nil)
	require.Error(t, err)
}

// TestUpgradedConnections are waited for, and cut off without an error.
func TestUpgradedConnections(t *testing.T) {
	for _, lasting := range []bool{false, true} {
		begun, goOn, cut := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			close(begun)
			select {
			case <-goOn:
				_, _ = io.WriteString(conn, "bye\n")
			case <-r.Context().Done():
				close(cut)
			}
		}, func(c *Config) {
			if lasting {
				c.ShutdownTimeout = 10 * time.Millisecond
			}
		})
		_, in := s.dial(t, get)
		<-begun
		s.stop()
		if lasting {
			require.NoError(t, <-s.ended)
			<-cut
			require.Contains(t, s.log.String(), `msg="upgraded connections are cut off" connections=1`)
			continue
		}
		close(goOn)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "bye\n", line)
		require.NoError(t, <-s.ended)
		require.NotContains(t, s.log.String(), "cut off")
	}
}

func TestListenerThatFails(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) {}, nil)
	s.stop()
	require.NoError(t, <-s.ended)
	broken := errors.New("broken")
	worked := make(chan struct{})
	err := Run(context.Background(), brokenListener{broken}, Config{
		Handler: http.NotFoundHandler(), ReadTimeout: long, WriteTimeout: long, IdleTimeout: long,
		Log: slog.New(slog.DiscardHandler), Workers: []func(context.Context){func(ctx context.Context) { <-ctx.Done(); close(worked) }},
	})
	require.ErrorIs(t, err, broken)
	<-worked
}

type brokenListener struct{ err error }

func (l brokenListener) Accept() (net.Conn, error) { return nil, l.err }
func (brokenListener) Close() error                { return nil }
func (brokenListener) Addr() net.Addr              { return &net.TCPAddr{} }

func TestHeaderTooLong(t *testing.T) {
	s := start(t, func(http.ResponseWriter, *http.Request) {}, nil)
	for size, status := range map[int]int{1 << 10: 200, 16 << 10: 431} {
		_, in := s.dial(t, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n")
		res, _ := answer(t, in)
		require.Equal(t, status, res.StatusCode)
	}
}

// TestNoise: a handshake that fails is no warning.
func TestNoise(t *testing.T) {
	out := &logtest.Lines{}
	l := complaints(slog.New(slog.NewTextHandler(out, nil)))
	l.Print("http: TLS handshake error from 127.0.0.1:1: EOF")
	require.Empty(t, out.String())
	l.Print("http: something\nelse")
	require.Contains(t, out.String(), `level=WARN msg="http: something\nelse"`)
}
