package front

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/logtest"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/proxy"
)

type rig struct {
	*httptest.Server
	clock *clock.Manual
	log   *logtest.Lines
	ended chan struct{} // gets one for each request that ended
	gone  chan struct{} // gets one for each whose context is done, at the end or before
}

// put starts a front, with a clock of its own, before an upstream.
func put(t *testing.T, upstream http.HandlerFunc, limits string, change func(*Config)) *rig {
	t.Helper()
	behind := httptest.NewServer(upstream)
	t.Cleanup(behind.Close)
	u, err := proxy.ParseUpstream(behind.URL)
	require.NoError(t, err)
	set, err := policy.ParsePolicies(strings.NewReader(limits))
	require.NoError(t, err)
	g := &rig{clock: clock.NewManual(0), log: &logtest.Lines{}, ended: make(chan struct{}, 100), gone: make(chan struct{}, 100)}
	log := slog.New(slog.NewTextHandler(g.log, nil))
	cfg := Config{
		Policies: set, Sources: caller.Defaults(), OnMissing: httplimit.FailClosed,
		Once:  &Once{Missing: httplimit.PassThrough},
		Proxy: proxy.Config{Upstream: u, Timeout: time.Minute, MaxBody: 1 << 20, Log: log},
		Clock: g.clock, Now: time.Now, Log: log,
	}
	if change != nil {
		change(&cfg)
	}
	f, err := New(cfg)
	require.NoError(t, err)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { g.ended <- struct{}{} }()
		context.AfterFunc(r.Context(), func() { g.gone <- struct{}{} })
		f.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// reply is an answer that has been read.
type reply struct {
	*http.Response
	text string
}

func (g *rig) send(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	res, err := g.Client().Do(g.request(t, method, path, body, header...))
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res, string(text)}
}

func (g *rig) request(t *testing.T, method, path, body string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, g.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

const alice, bob = "Bearer alice-s3cret", "Bearer bob-s3cret"

func TestLimits(t *testing.T) {
	g := put(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) },
		`[{"endpoint":"GET /orders/{id}","limits":["2/h name=hour"]},{"endpoint":"default","limits":["1/m"]}]`, nil)
	for i, want := range []string{`"hour";r=1;t=1800`, `"hour";r=0;t=1800`} {
		res := g.send(t, "GET", fmt.Sprintf("/orders/%d", i), "", "Authorization", alice)
		require.Equal(t, 200, res.StatusCode)
		require.Equal(t, fmt.Sprintf("/orders/%d", i), res.text)
		require.Equal(t, want, res.Header.Get("RateLimit"))
	}
	res := g.send(t, "GET", "/orders/3?q=s3cret", "", "Authorization", alice)
	require.Equal(t, 429, res.StatusCode)
	require.Equal(t, "1800", res.Header.Get("Retry-After"))
	require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
	require.Equal(t, `"hour";q=2;w=3600`, res.Header.Get("RateLimit-Policy"))
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(res.text), &body))
	require.Equal(t, "rate_limit_exceeded", body["error"])
	require.Equal(t, "2 requests/hour for GET /orders/{id}", body["reason"])
	require.Equal(t, "3600s", body["limit_window"])
	require.EqualValues(t, 1800, body["retry_after_seconds"])

	// Another caller, and another endpoint, have limits of their own.
	require.Equal(t, 200, g.send(t, "GET", "/orders/3", "", "Authorization", bob).StatusCode)
	require.Equal(t, 200, g.send(t, "GET", "/anything", "", "Authorization", alice).StatusCode)
	require.Equal(t, 429, g.send(t, "POST", "/whatever", "", "Authorization", alice).StatusCode)
	g.clock.Advance(30 * time.Minute)
	require.Equal(t, 200, g.send(t, "GET", "/orders/3", "", "Authorization", alice).StatusCode)

	for range 7 {
		<-g.ended
	}
	log := g.log.String()
	require.Contains(t, log, `endpoint="GET /orders/{id}" status=429 replayed=false`)
	require.Contains(t, log, "limit=hour")
	require.Contains(t, log, "limit=1/m")
	require.NotContains(t, log, "s3cret")
	require.NotContains(t, log, "/orders/3")
	require.NotContains(t, log, "whatever")
}

func TestCallers(t *testing.T) {
	const limits = `[{"endpoint":"default","limits":["1/h"]}]`
	served := func(http.ResponseWriter, *http.Request) {}
	g := put(t, served, limits, nil)
	res := g.send(t, "GET", "/", "")
	require.Equal(t, 401, res.StatusCode)
	require.Equal(t, "Bearer", res.Header.Get("WWW-Authenticate"))
	require.Equal(t, 400, g.send(t, "GET", "/", "", "Authorization", alice, "Authorization", alice).StatusCode)
	require.Equal(t, 400, g.send(t, "GET", "/", "", "X-API-Key", strings.Repeat("k", 10_000)).StatusCode)
	require.Equal(t, 200, g.send(t, "GET", "/", "", "Authorization", "Bearer "+strings.Repeat("k", 2000)).StatusCode)
	require.Equal(t, 429, g.send(t, "GET", "/", "", "Authorization", "Bearer "+strings.Repeat("k", 2000)).StatusCode)

	// Let in without a key, they have no limit; but what might be a key to the
	// upstream does not count as none.
	open := put(t, served, limits, func(c *Config) { c.OnMissing = httplimit.FailOpen })
	for range 3 {
		require.Equal(t, 200, open.send(t, "POST", "/", "", "Idempotency-Key", "k").StatusCode)
	}
	require.Equal(t, 400, open.send(t, "GET", "/", "", "Authorization", alice, "Authorization", alice).StatusCode)
	require.Equal(t, 401, open.send(t, "GET", "/", "", "Authorization", "Bearer\talice").StatusCode)
}

// TestHeaders that callers are told of their limits by.
func TestHeaders(t *testing.T) {
	for mode := httplimit.IETF; mode <= httplimit.None; mode++ {
		g := put(t, func(http.ResponseWriter, *http.Request) {}, `[{"endpoint":"default","limits":["1/h"]}]`,
			func(c *Config) { c.Headers = mode })
		res := g.send(t, "GET", "/", "", "Authorization", alice)
		require.Equal(t, mode == httplimit.IETF || mode == httplimit.Both, res.Header.Get("RateLimit") != "")
		require.Equal(t, mode == httplimit.Legacy || mode == httplimit.Both, res.Header.Get("X-RateLimit-Limit") != "")
	}
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(Config{
		Policies: policy.Set{{Endpoint: "order.new"}}, MaxKeys: -1, Once: &Once{MaxRecords: -1},
	})
	for _, want := range []string{"order.new", `no policy "default"`, "limits", "MaxKeys", "MaxRecords"} {
		require.ErrorContains(t, err, want)
	}
}

// TestKeyThatBreaksLines: what net/http takes, here does not break a log.
func TestKeyThatBreaksLines(t *testing.T) {
	var handed atomic.Int32
	g := put(t, func(http.ResponseWriter, *http.Request) { handed.Add(1) }, `[{"endpoint":"default","limits":["9/h"]}]`, nil)
	require.Equal(t, 400, g.send(t, "GET", "/", "", "X-API-Key", "a\tlevel=ERROR").StatusCode)
	require.Equal(t, 400, raw(t, g, "GET /p%0d%0alevel=ERROR HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: k\r\n\r\n"))
	for i, key := range []string{"a\x00b", "a\r\nX-Injected: yes", "a\rb"} {
		status := raw(t, g, "GET /p HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: "+key+"\r\n\r\n")
		if i == 1 { // that is two headers, and a key
			require.Equal(t, 200, status)
			continue
		}
		require.Equal(t, 400, status)
	}
	require.EqualValues(t, 1, handed.Load())
	require.NotContains(t, g.log.String(), "level=ERROR")
	require.NotContains(t, g.log.String(), "\r")
}
