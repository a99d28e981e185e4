package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireProblem holds an answer to the form of all that the upstream did not give.
func requireProblem(t *testing.T, res *http.Response, text string, status int, code string) {
	t.Helper()
	require.Equal(t, status, res.StatusCode, text)
	require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	var body struct {
		Status int
		Error  string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &body))
	require.Equal(t, status, body.Status)
	require.Equal(t, code, body.Error)
}

func TestUpstreamDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	g := put(t, "http://"+address, nil)
	res, text := g.send(t, "POST", "/secret-path?q=secret", "secret", http.Header{"X-Api-Key": {"secret"}})
	requireProblem(t, res, text, 502, "upstream_failed")
	<-g.once
	require.Contains(t, g.log.String(), "level=WARN msg=request endpoint=x status=502")
	require.Contains(t, g.log.String(), "error=upstream_failed cause=")
	require.Contains(t, g.log.String(), "connection refused")
	require.NotContains(t, g.log.String(), "secret")
}

// TestUpstreamTalksNonsense: what it says may be what the client said, so it is not
// logged.
func TestUpstreamTalksNonsense(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			fmt.Fprint(conn, "your key is s3cret\r\n\r\n")
			_ = conn.Close()
		}
	}()
	g := put(t, "http://"+listener.Addr().String(), nil)
	res, text := g.send(t, "GET", "/", "", nil)
	requireProblem(t, res, text, 502, "upstream_failed")
	<-g.once
	require.Contains(t, g.log.String(), "no HTTP")
	require.NotContains(t, g.log.String(), "s3cret")
	require.NotContains(t, text, "s3cret")
}

func TestUpstreamSlow(t *testing.T) {
	cancelled := make(chan struct{})
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(cancelled)
	}, func(c *Config) { c.Timeout = 30 * time.Millisecond })
	res, text := g.send(t, "POST", "/", "body", nil)
	requireProblem(t, res, text, 504, "upstream_slow")
	<-cancelled
	<-g.once
	require.Contains(t, g.log.String(), `cause="no answer within 30ms"`)
}

// TestUpstreamDoesNotTakeTheBody: it is slow as well, though its answer is not awaited
// yet.
func TestUpstreamDoesNotTakeTheBody(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() // nobody accepts: the kernel takes what its buffers hold
	g := put(t, "http://"+listener.Addr().String(), func(c *Config) { c.Timeout, c.MaxBody = 100*time.Millisecond, 1<<30 })
	res, text := g.send(t, "POST", "/", strings.Repeat("x", 24<<20), nil)
	requireProblem(t, res, text, 504, "upstream_slow")
}

// TestSlowAnswerIsNotCut: the time-out is for its beginning.
func TestSlowAnswerIsNotCut(t *testing.T) {
	var ended chan struct{}
	g := behind(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-ended:
			fmt.Fprint(w, "whole")
		case <-r.Context().Done():
		}
	}, func(c *Config) { c.Timeout = 20 * time.Millisecond })
	ended = make(chan struct{})
	res, err := g.Client().Get(g.URL)
	require.NoError(t, err)
	defer res.Body.Close()
	time.AfterFunc(60*time.Millisecond, func() { close(ended) }) // the time-out has passed
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "whole", string(text))
}

// TestClientGone: the upstream is told, and nobody else.
func TestClientGone(t *testing.T) {
	begun, cancelled := make(chan struct{}), make(chan struct{})
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(cancelled)
	}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	require.NoError(t, err)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	require.NoError(t, conn.Close())
	<-cancelled
	<-g.once
	require.Equal(t, 1, strings.Count(g.log.String(), "\n"), g.log.String())
	require.Contains(t, g.log.String(), "level=INFO msg=request endpoint=x status=0")
}

func TestBodyTooLarge(t *testing.T) {
	const most = 10
	var got []byte
	var whole bool
	served := make(chan struct{}, 10)
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		got, whole = b, err == nil
		served <- struct{}{}
	}, func(c *Config) { c.MaxBody = most })
	for _, chunked := range []bool{false, true} {
		for _, size := range []int{0, 1, most, most + 1, 100 * most, 1 << 20} {
			var body io.Reader = strings.NewReader(strings.Repeat("x", size))
			if chunked {
				body = struct{ io.Reader }{body}
			}
			r, err := http.NewRequest("PUT", g.URL, body)
			require.NoError(t, err)
			res, err := g.Client().Do(r)
			require.NoError(t, err)
			text, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			if size > most {
				requireProblem(t, res, string(text), 413, "body_too_large")
				require.True(t, res.Close)
				continue
			}
			require.Equal(t, 200, res.StatusCode, string(text))
			<-served
			require.Len(t, got, size)
			require.True(t, whole)
		}
	}
}

// TestBodyBreaksOff: that is the client's fault, not the upstream's.
func TestBodyBreaksOff(t *testing.T) {
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	requireProblem(t, res, string(text), 400, "body_incomplete")
}

func TestRequestsThatAreNotTaken(t *testing.T) {
	g := behind(t, func(http.ResponseWriter, *http.Request) { t.Error("handed on") }, nil)
	for _, head := range []string{
		"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: \xff\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		require.NoError(t, err)
		fmt.Fprint(conn, head)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		requireProblem(t, res, string(text), 400, "request_invalid")
		require.NoError(t, conn.Close())
	}
}

// TestBodyIsSlow: the client is still there, and is told what is wrong.
func TestBodyIsSlow(t *testing.T) {
	g := behind(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, nil)
	slow := httptest.NewUnstartedServer(g.Config.Handler)
	slow.Config.ReadTimeout = 50 * time.Millisecond
	slow.Start()
	defer slow.Close()
	for _, head := range []string{"Content-Length: 5\r\n\r\nhe", "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(slow.URL, "http://"))
		require.NoError(t, err)
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\n"+head)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		requireProblem(t, res, string(text), 408, "body_slow")
		require.True(t, res.Close)
		require.NoError(t, conn.Close())
		<-g.once
	}
	require.Contains(t, g.log.String(), "status=408")
}

// TestAnswerThatBreaksOff is marked in the log: its status alone looks well.
func TestAnswerThatBreaksOff(t *testing.T) {
	g := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	if res, err := g.Client().Get(g.URL); err == nil { // it may have got nothing at all
		_, err = io.ReadAll(res.Body)
		require.Error(t, err)
		require.NoError(t, res.Body.Close())
	}
	<-g.once
	require.Regexp(t, `status=200 .*aborted=true`, g.log.String())
}
