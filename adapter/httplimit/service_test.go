package httplimit_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// apikey is the caller as tests name it.
func apikey(r *http.Request) (string, error) {
	switch v := r.Header["X-Api-Key"]; len(v) {
	case 0:
		return "", httplimit.ErrKeyMissing
	case 1:
		return v[0], nil
	}
	return "", errTwoKeys
}

var errTwoKeys = errors.New("two keys")

// policyOf makes a policy from limits as they are written.
func policyOf(t testing.TB, endpoint string, limits ...string) policy.Policy {
	p := policy.Policy{Endpoint: endpoint}
	for _, s := range limits {
		l, err := policy.ParseLimit(s)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	return p
}

// gateOf makes a gate whose clock stands still.
func gateOf(t testing.TB, set ...policy.Policy) (*tickgate.Gate, *clock.Manual) {
	c := clock.NewManual(0)
	g, err := tickgate.New(tickgate.Config{Policies: set, Clock: c, Wall: clock.NewManualWall(0)})
	require.NoError(t, err)
	return g, c
}

func limiterOf(t testing.TB, g *tickgate.Gate, change ...func(*httplimit.LimitConfig)) *httplimit.Limiter {
	cfg := httplimit.LimitConfig{Gate: g, Key: apikey, OnMissing: httplimit.FailClosed}
	for _, f := range change {
		f(&cfg)
	}
	l, err := httplimit.NewLimiter(cfg)
	require.NoError(t, err)
	return l
}

func storeOf(t testing.TB, c clock.Clock) *idem.Store {
	s, err := idem.NewStore(idem.Config{Clock: c})
	require.NoError(t, err)
	return s
}

func onceOf(t testing.TB, s httplimit.Store, change ...func(*httplimit.IdempotencyConfig)) *httplimit.Idempotency {
	cfg := httplimit.IdempotencyConfig{Store: s, Scope: apikey}
	for _, f := range change {
		f(&cfg)
	}
	m, err := httplimit.NewIdempotency(cfg)
	require.NoError(t, err)
	return m
}

// serve starts a server on loopback with one handler under a pattern.
func serve(t testing.TB, pattern string, h http.Handler) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle(pattern, h)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// answer is a response that was read.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask makes a request. headers are names and values in turn.
func ask(t testing.TB, s *httptest.Server, method, path, body string, headers ...string) answer {
	var from io.Reader
	if body != "" {
		from = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, s.URL+path, from)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	return send(t, s, req)
}

func send(t testing.TB, s *httptest.Server, req *http.Request) answer {
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, string(b)}
}

// problem reads the body of a problem.
func (a answer) problem(t testing.TB) map[string]any {
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &m), a.body)
	require.Equal(t, float64(a.status), m["status"])
	return m
}

// code is the member error of a problem.
func (a answer) code(t testing.TB) string {
	s, _ := a.problem(t)["error"].(string)
	return s
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
