package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ask makes a request to another port than the data port.
func (s *served) ask(t *testing.T, port, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.port(t, port)+path, strings.NewReader(body))
	require.NoError(t, err)
	return s.do(t, r, header...)
}

// take asks the check API at a port for one token.
func (s *served) take(t *testing.T, port, apikey, endpoint string) answer {
	t.Helper()
	return s.ask(t, port, "POST", "/v1/take", fmt.Sprintf(`{"apikey":%q,"endpoint":%q}`, apikey, endpoint), "Content-Type", "application/json")
}

// page is what the operators' page shows.
type page struct {
	PolicyVersion string `json:"policy_version"`
	Rejects       struct {
		Total uint64
		Last  []struct {
			Key, Endpoint, Limit, Reason, Version string
			Cost                                  int64
			RetryAfter                            float64 `json:"retry_after"`
		}
	}
	Changes []struct {
		What, Who, Fault string
		Lines            []string
	}
	Policies []struct{ Endpoint string }
	Sources  []struct {
		Name, Version, Connection string
		LastError                 string `json:"last_error"`
		Applied, Refused          uint64
	}
}

func (s *served) page(t *testing.T) (p page) {
	t.Helper()
	res := s.ask(t, "operators", "GET", "/debug/tickgate/data", "")
	require.Equal(t, 200, res.StatusCode, res.text)
	require.NoError(t, json.Unmarshal([]byte(res.text), &p))
	return p
}

// metric returns the value of a series, "" if there is none.
func (s *served) metric(t *testing.T, series string) string {
	t.Helper()
	for line := range strings.Lines(s.ask(t, "operators", "GET", "/metrics", "").text) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// adminPaths are what the operators' port answers.
var adminPaths = []string{
	"GET /debug/tickgate", "GET /debug/tickgate/data", "GET /metrics", "GET /healthz", "GET /readyz",
	"GET /v1/usage", "POST /v1/block", "POST /v1/unblock", "GET /debug/pprof/", "GET /debug/pprof/profile?seconds=1", "GET /debug/pprof/heap",
}

// TestServeCheckAPI: without an upstream the data port answers for other programs, and
// the operators' port shows what it did.
func TestServeCheckAPI(t *testing.T) {
	s := serve(t, nil, "--set", "orders=2/h", "--show-keys")
	for i, want := range []string{`"remaining":1`, `"remaining":0`, `"allowed":false`} {
		res := s.take(t, "", "desk-7", "orders")
		require.Equal(t, 200, res.StatusCode)
		require.Contains(t, res.text, want, i)
	}
	many := s.ask(t, "", "POST", "/v1/take", `{"requests":[{"apikey":"desk-7","endpoint":"orders"},{"apikey":"desk-8","endpoint":"trading.submit_order"}]}`,
		"Content-Type", "application/json")
	require.Contains(t, many.text, `{"decisions":[{"allowed":false`)
	require.Contains(t, many.text, `"limit":"100/s"`, "the defaults are below --set")

	p := s.page(t)
	require.EqualValues(t, 2, p.Rejects.Total)
	require.Equal(t, "desk-7", p.Rejects.Last[0].Key)
	require.Equal(t, "orders", p.Rejects.Last[0].Endpoint)
	require.Equal(t, "2/h", p.Rejects.Last[0].Limit)
	require.Equal(t, "defaults", p.PolicyVersion)
	require.Equal(t, "2", s.metric(t, `tickgate_requests_total{decision="denied",policy="orders"}`))
	require.NotEmpty(t, s.metric(t, "tickgate_check_duration_seconds_count"))
	require.Equal(t, 200, s.ask(t, "operators", "GET", "/readyz", "").StatusCode)
	require.Equal(t, 200, s.ask(t, "operators", "GET", "/v1/usage?apikey=desk-7", "").StatusCode)
}

// TestServeAdminIsElsewhere: nothing of the operators' port answers on the ports for
// callers, and the other way round.
func TestServeAdminIsElsewhere(t *testing.T) {
	seen := ""
	url := upstream(t, func(w http.ResponseWriter, r *http.Request) { seen += " " + r.URL.Path; fmt.Fprint(w, "upstream") })
	proxied := serve(t, nil, "--upstream", url, "--check", "127.0.0.1:0", "--set", "default=1000/s")
	checking := serve(t, nil)
	for _, path := range adminPaths {
		method, path, _ := strings.Cut(path, " ")
		res := checking.send(t, method, path, "{}", "Content-Type", "application/json")
		require.Equal(t, 404, res.StatusCode, path)
		res = proxied.ask(t, "checks", method, path, "{}", "Content-Type", "application/json")
		require.Equal(t, 404, res.StatusCode, path)
		res = proxied.send(t, method, path, "", "X-API-Key", "k")
		require.Equal(t, "upstream", res.text, "%s is the upstream's own", path)
	}
	require.Equal(t, 404, proxied.ask(t, "operators", "POST", "/v1/take", `{}`).StatusCode)
	require.Equal(t, "upstream", proxied.send(t, "POST", "/v1/take", `{"apikey":"other","endpoint":"default"}`, "X-API-Key", "k", "Content-Type", "application/json").text,
		"who has a key cannot ask for another's")
	require.Contains(t, seen, " /v1/take")

	r, err := http.NewRequest("GET", "http://"+proxied.port(t, "operators")+"/metrics", nil)
	require.NoError(t, err)
	r.Host = "evil.example"
	require.Equal(t, 403, proxied.do(t, r).StatusCode, "a page of another site, by a name of its own")
}

// TestServeBlockAndUsage: an operator names callers as callers name themselves, also
// where the gate knows them by hashes.
func TestServeBlockAndUsage(t *testing.T) {
	url := upstream(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "done") })
	s := serve(t, nil, "--upstream", url, "--set", "default=3/h", "--check", "127.0.0.1:0")
	require.Equal(t, 200, s.send(t, "GET", "/", "", "X-API-Key", "alice-s3cret").StatusCode)
	require.Contains(t, s.take(t, "checks", "alice-s3cret", "default").text, `"remaining":1`, "one budget at both ports")
	usage := s.ask(t, "operators", "GET", "/v1/usage?apikey=alice-s3cret", "")
	require.Contains(t, usage.text, `"default"`)
	order := func(path, body string) {
		require.Equal(t, 200, s.ask(t, "operators", "POST", path, body, "Content-Type", "application/json").StatusCode)
	}
	order("/v1/block", `{"apikey":"alice-s3cret","who":"risk"}`)
	require.Equal(t, 403, s.send(t, "GET", "/", "", "X-API-Key", "alice-s3cret").StatusCode)
	require.Equal(t, 200, s.send(t, "GET", "/", "", "X-API-Key", "bob-s3cret").StatusCode)
	order("/v1/unblock", `{"apikey":"alice-s3cret","who":"risk"}`)
	require.Equal(t, 200, s.send(t, "GET", "/", "", "X-API-Key", "alice-s3cret").StatusCode)
	require.Equal(t, 429, s.send(t, "GET", "/", "", "X-API-Key", "alice-s3cret").StatusCode)
	p := s.page(t)
	require.Equal(t, []string{"limited", "blocked"}, []string{p.Rejects.Last[0].Reason, p.Rejects.Last[1].Reason})
	require.Equal(t, "risk", p.Changes[0].Who)
	require.NotContains(t, s.String(), "s3cret")
}

// TestServeExampleAdmin: operators see the example's gate, as they see the others.
func TestServeExampleAdmin(t *testing.T) {
	s := serve(t, map[string]string{"MEM_RATE_LIMIT_QUERY": "1/hour"}, "--example", "memory", "--show-keys")
	query := func(key string) int { return s.send(t, "GET", "/memory/query", "", "X-API-Key", key).StatusCode }
	require.Equal(t, []int{200, 429}, []int{query("alice-s3cret"), query("alice-s3cret")})
	require.Equal(t, 200, s.ask(t, "operators", "GET", "/readyz", "").StatusCode)
	require.Equal(t, "1", s.metric(t, `tickgate_requests_total{decision="denied",policy="GET /memory/query"}`))
	require.Equal(t, "0", s.metric(t, `tickgate_idempotency_requests_total{outcome="acquired"}`))
	p := s.page(t)
	require.EqualValues(t, 1, p.Rejects.Total)
	require.Equal(t, "alice-s3cret", p.Rejects.Last[0].Key)
	require.Equal(t, "GET /memory/query", p.Rejects.Last[0].Endpoint)
	res := s.ask(t, "operators", "POST", "/v1/block", `{"apikey":"bob-s3cret","who":"risk"}`, "Content-Type", "application/json")
	require.Equal(t, 200, res.StatusCode, res.text)
	require.Equal(t, 403, query("bob-s3cret"))
	require.Equal(t, "risk", s.page(t).Changes[0].Who)
	require.Equal(t, 401, s.send(t, "GET", "/metrics", "").StatusCode, "not on the data port")
	s.hangup <- struct{}{}
	soon(t, "a signal does no harm", func() bool { return strings.Contains(s.String(), "told to read everything again") })
	require.Equal(t, 200, query("carol-s3cret"))
	s.stop()
	require.Equal(t, exitOK, <-s.status)
}

// TestServeEndInOrder: the operators' port says that the process is not ready while
// requests end, and ends last.
func TestServeEndInOrder(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, nil, "--upstream", upstream(t, func(http.ResponseWriter, *http.Request) {
		close(begun)
		<-goOn
	}))
	s.begin()
	<-begun
	s.stop()
	require.Eventually(t, func() bool { return s.ask(t, "operators", "GET", "/readyz", "").StatusCode == 503 }, 5*time.Second, 5*time.Millisecond)
	require.Equal(t, 200, s.ask(t, "operators", "GET", "/healthz", "").StatusCode)
	s.client.CloseIdleConnections()
	close(goOn)
	require.Equal(t, exitOK, <-s.status)
}

// TestServeOpenPorts: what is open to a network, and asks nobody who they are, is said.
func TestServeOpenPorts(t *testing.T) {
	const warning = "is open to whoever reaches the port"
	require.NotContains(t, serve(t, nil).String(), warning)
	s := serve(t, nil, "--listen", "0.0.0.0:0")
	require.Contains(t, s.String(), `level=WARN msg="POST /v1/take `+warning)
	require.NotContains(t, serve(t, nil, "--listen", "0.0.0.0:0", "--upstream", upstream(t, noContent)).String(), warning)
}
