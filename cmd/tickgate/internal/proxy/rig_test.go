package proxy

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/logtest"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// long is a time-out that no test waits for.
const long = time.Minute

// rig is a proxy in front of an upstream, both over real connections.
type rig struct {
	*httptest.Server
	log  *logtest.Lines
	once chan struct{} // gets one for each request that ended
}

// put starts a proxy to the address of an upstream.
func put(t *testing.T, upstream string, change func(*Config)) *rig {
	t.Helper()
	u, err := ParseUpstream(upstream)
	require.NoError(t, err)
	g := &rig{log: &logtest.Lines{}, once: make(chan struct{}, 100)}
	log := slog.New(slog.NewTextHandler(g.log, nil))
	cfg := Config{
		Upstream: u, Timeout: long, MaxBody: 1 << 20, Log: log, Upgrades: []string{"websocket"},
		Fail: func(w http.ResponseWriter, r *http.Request, e *httplimit.Error) {
			visit.Of(r).Error = e.Code
			httplimit.WriteError(w, r, e)
		},
	}
	if change != nil {
		change(&cfg)
	}
	p := New(cfg)
	limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Ratelimit"] = []string{`"hour";r=1`} // as a limiter in front has it
		p.ServeHTTP(w, r)
	})
	logged := visit.Log(log, time.Now, func(*http.Request) string { return "x" }, nil, limited)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { g.once <- struct{}{} }()
		logged.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// behind starts an upstream, and a proxy to it.
func behind(t *testing.T, upstream http.HandlerFunc, change func(*Config)) *rig {
	t.Helper()
	s := httptest.NewServer(upstream)
	t.Cleanup(s.Close)
	return put(t, s.URL, change)
}

// send makes a request and reads all of the answer.
func (g *rig) send(t *testing.T, method, path, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, g.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	for name, values := range header {
		r.Header[name] = values
	}
	res, err := g.Client().Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res, string(text)
}

func TestParseUpstream(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:9000": "127.0.0.1:9000", "https://api.test/base/": "api.test", "http://[::1]:1": "[::1]:1",
	} {
		u, err := ParseUpstream(text)
		require.NoError(t, err)
		require.Equal(t, want, u.Host)
	}
	for text, want := range map[string]string{
		"":                        "must begin with http://",
		"127.0.0.1:9000":          "is no URL",
		"api.test":                "must begin with http://",
		"ftp://api.test":          "must begin with http://",
		"http://":                 "has no host",
		"http://:80":              "has no host",
		"http:api.test":           "has no host",
		"http://api.test:":        "has no port",
		"http://api.test:0":       "has no port",
		"http://api.test:65536":   "has no port",
		"http://api.test:x":       "is no URL",
		"http://me:s3cret@api":    "must not hold a user",
		"http://me:s3cret@api:x":  "is no URL",
		"http://api.test/?a=1":    "must not have a query",
		"http://api.test/?":       "must not have a query",
		"http://api.test/#a":      "must not have a query",
		"http://api.test/\x00":    "is no URL",
		"http://api.test/ s%zz\n": "is no URL",
	} {
		_, err := ParseUpstream(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "s3cret")
		require.NotContains(t, err.Error(), "\n")
	}
}
