package httplimit_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/idem"
)

// hostile is a service with ids in bodies, and its store.
func hostile(t *testing.T) (*httptest.Server, *idem.Store, *jobs) {
	g, c := gateOf(t, policyOf(t, "default", "1000000/s"))
	store, j := storeOf(t, c), &jobs{}
	s := serve(t, ingest, limiterOf(t, g).Wrap(onceOf(t, store, byField).Wrap(j)))
	return s, store, j
}

// raw sends bytes as they are and reads the response.
func raw(t *testing.T, s *httptest.Server, send func(io.Writer)) answer {
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second))) // so that a fault ends the test
	go send(conn)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(b)}
}

const head = "POST /memory/ingest HTTP/1.1\r\nHost: x\r\nX-API-Key: a\r\n"

func TestHostileBodies(t *testing.T) {
	s, store, j := hostile(t)
	chunk := "8000\r\n" + strings.Repeat("x", 0x8000) + "\r\n"
	for what, c := range map[string]struct {
		send func(w io.Writer)
		want int
	}{
		"10 MB": {func(w io.Writer) {
			fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n%s", head, 10<<20, strings.Repeat("x", 10<<20))
		}, 413},
		"10 MB announced, nothing sent": {func(w io.Writer) { fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n", head, 10<<20) }, 413},
		"10 MB in a JSON string": {func(w io.Writer) {
			fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n{\"a\":\"%s", head, 10<<20, strings.Repeat("x", 10<<20))
		}, 413},
		"chunks without end": {func(w io.Writer) {
			_, err := io.WriteString(w, head+"Transfer-Encoding: chunked\r\n\r\n")
			for err == nil {
				_, err = io.WriteString(w, chunk)
			}
		}, 413},
		"a broken chunk": {func(w io.Writer) { _, _ = io.WriteString(w, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n") }, 400},
		"ends too early": {func(w io.Writer) {
			_, _ = io.WriteString(w, head+"Content-Length: 10\r\n\r\n{}")
			_ = w.(*net.TCPConn).CloseWrite()
		}, 400},
	} {
		a := raw(t, s, c.send)
		require.Equal(t, c.want, a.status, what)
		require.NotEmpty(t, a.code(t), what)
	}
	require.Zero(t, j.n.Load(), "no handler ran")
	require.Zero(t, store.Stats().Records, "nothing is remembered")
}

func TestHostileRequests(t *testing.T) {
	s, store, j := hostile(t)
	long := strings.Repeat("k", 10<<10)
	for what, c := range map[string]struct {
		body    string
		headers []string
		code    string
	}{
		"invalid JSON":            {`{"ingest_id":`, nil, "body_invalid"},
		"not an object":           {`[1]`, nil, "body_invalid"},
		"not UTF-8":               {"{\"a\":\"\xff\"}", nil, "body_invalid"},
		"deep":                    {strings.Repeat("[", 1<<19), nil, "body_invalid"},
		"compressed":              {`{}`, []string{"Content-Encoding", "gzip"}, "body_invalid"},
		"two ids":                 {`{"ingest_id":"a","ingest_id":"b"}`, nil, "idempotency_key_invalid"},
		"two ids, by case":        {`{"ingest_id":"a","INGEST_ID":"b"}`, nil, "idempotency_key_invalid"},
		"an id with NUL":          {`{"ingest_id":"a\u0000"}`, nil, "idempotency_key_invalid"},
		"an id with CRLF":         {`{"ingest_id":"a\r\nSet-Cookie: x=y"}`, nil, "idempotency_key_invalid"},
		"an id of 10 kB":          {`{"ingest_id":"` + long + `"}`, nil, "idempotency_key_invalid"},
		"a number":                {`{"ingest_id":1}`, nil, "idempotency_key_invalid"},
		"a header of 10 kB":       {`{}`, []string{"Idempotency-Key", long}, "idempotency_key_invalid"},
		"a header twice":          {`{}`, []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, "idempotency_key_invalid"},
		"a header twice, one id":  {`{"ingest_id":"a"}`, []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, "idempotency_key_invalid"},
		"a header not closed":     {`{}`, []string{"Idempotency-Key", `"a`}, "idempotency_key_invalid"},
		"an empty header":         {`{}`, []string{"Idempotency-Key", ``}, "idempotency_key_invalid"},
		"an apikey of 10 kB":      {`{}`, []string{"X-API-Key", long}, "caller_invalid"},
		"an apikey with a delete": {`{}`, nil, "caller_invalid"},
	} {
		headers := c.headers
		if c.code != "caller_invalid" {
			headers = append([]string{"X-API-Key", "a"}, headers...)
		}
		var a answer
		if headers != nil {
			a = ask(t, s, "POST", "/memory/ingest", c.body, headers...)
		} else {
			w := httptest.NewRecorder() // net/http itself sends no such header
			r := httptest.NewRequest("POST", "/memory/ingest", strings.NewReader(c.body))
			r.Header.Set("X-API-Key", "a\x7f")
			s.Config.Handler.ServeHTTP(w, r)
			a = answer{w.Code, w.Header(), w.Body.String()}
		}
		require.Equal(t, 400, a.status, what)
		require.Equal(t, c.code, a.code(t), what)
		require.NotContains(t, a.body, "kkk", "nothing is repeated")
		require.NotContains(t, a.header, "Set-Cookie")
	}
	require.Zero(t, j.n.Load(), "no handler ran")
	require.Zero(t, store.Stats().Records, "nothing is remembered")
}

// Header lines with control characters do not reach a handler at all.
func TestHostileHeaderLines(t *testing.T) {
	s, _, j := hostile(t)
	for _, line := range []string{"Idempotency-Key: a\x00b", "Idempotency-Key: a\rb", "X-API-Key: a\x00b", "Idempotency-Key : a"} {
		a := raw(t, s, func(w io.Writer) { fmt.Fprintf(w, "%s%s\r\nContent-Length: 2\r\n\r\n{}", head, line) })
		require.Equal(t, 400, a.status, "%q", line)
	}
	require.Zero(t, j.n.Load())
}

// A denied upload is answered before its body comes.
func TestADenialDoesNotWaitForTheBody(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, ingest, "deny"))
	s := serve(t, ingest, limiterOf(t, g).Wrap(ok))
	a := raw(t, s, func(w io.Writer) { fmt.Fprintf(w, "%sContent-Length: %d\r\n\r\n", head, 1<<20) })
	require.Equal(t, 429, a.status)
}

// A path of any length and content is repeated as one JSON string, or not at all.
func TestHostilePaths(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "default", "deny"))
	s := serve(t, "/", limiterOf(t, g).Wrap(ok))
	for path, want := range map[string]any{
		"/%22%7d%0d%0a%00%ff?secret=1":   "/%22%7d%0d%0a%00%ff",
		"/'()*+,;=:@!$&":                 "/'()*+,;=:@!$&",
		"/" + strings.Repeat("p", 10000): nil,
	} {
		a := ask(t, s, "GET", path, "", "X-API-Key", "k")
		require.Equal(t, 429, a.status)
		require.Equal(t, want, a.problem(t)["instance"])
		require.Less(t, len(a.body), 2000)
	}
}

// Requests that fail leave neither goroutines nor memory behind.
func TestHostileRequestsLeaveNothing(t *testing.T) {
	g, c := gateOf(t, policyOf(t, "default", "1000000/s"))
	store := storeOf(t, c)
	m := onceOf(t, store, byField, func(c *httplimit.IdempotencyConfig) { c.MaxBody = 1 << 10 })
	h := limiterOf(t, g).Wrap(m.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })))
	bodies := []string{`{`, `{"ingest_id":1}`, strings.Repeat("x", 2<<10), `{"ingest_id":"a"}`}
	round := func(n int) {
		for i := range n {
			r := httptest.NewRequest("POST", "/", strings.NewReader(bodies[i%len(bodies)]))
			r.Pattern = "POST /"
			r.Header.Set("X-API-Key", fmt.Sprint("k", i%100))
			func() {
				defer func() { _ = recover() }()
				h.ServeHTTP(httptest.NewRecorder(), r)
			}()
		}
	}
	heap := func() uint64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	round(1000)
	before, goroutines := heap(), runtime.NumGoroutine()
	round(20000)
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.Less(t, heap(), before+1<<20)
	require.Zero(t, store.Stats().Records)
}
