package memory_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

// api is a service on loopback whose clock moves only when told to.
type api struct {
	t       *testing.T
	clock   *clock.Manual
	service *memory.Service
	server  *httptest.Server
}

// environment is a lookup of names and values in turn.
func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func newAPI(t *testing.T, change ...func(*memory.Config)) *api {
	a := &api{t: t, clock: clock.NewManual(0)}
	cfg := memory.Config{Clock: a.clock, Wall: clock.NewManualWall(0)}
	for _, f := range change {
		f(&cfg)
	}
	s, err := memory.New(cfg)
	require.NoError(t, err)
	a.service, a.server = s, httptest.NewServer(s)
	t.Cleanup(a.server.Close)
	return a
}

func withEnv(pairs ...string) func(*memory.Config) {
	return func(c *memory.Config) { c.Lookup = environment(pairs...) }
}

// answer is a response that was read.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// ask makes a request to an endpoint, "GET /memory/query?q=x". headers are names and
// values in turn.
func (a *api) ask(endpoint, body string, headers ...string) answer {
	a.t.Helper()
	method, target, _ := strings.Cut(endpoint, " ")
	req, err := http.NewRequest(method, a.server.URL+target, strings.NewReader(body))
	require.NoError(a.t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := a.server.Client().Do(req)
	require.NoError(a.t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(a.t, err)
	return answer{a.t, res.StatusCode, res.Header, string(b)}
}

// as makes a request by the caller with the given key.
func (a *api) as(key, endpoint, body string) answer {
	a.t.Helper()
	return a.ask(endpoint, body, "X-API-Key", key)
}

// work carries out all jobs that wait.
func (a *api) work() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	a.service.Run(ctx)
}

// stored returns the jobs that were carried out for a caller.
func (a *api) stored(key string) []string {
	a.t.Helper()
	a.work()
	var found struct {
		Memories []struct {
			ID string `json:"job_id"`
		}
	}
	res := a.as(key, policy.MemoryQuery, "")
	require.Equal(a.t, 200, res.status, res.body)
	require.NoError(a.t, json.Unmarshal([]byte(res.body), &found))
	ids := []string{}
	for _, m := range found.Memories {
		ids = append(ids, m.ID)
	}
	return ids
}

// drain uses up an hourly limit of n in bursts of ten, a second apart, and ends with
// the clock at the last one.
func (a *api) drain(key, endpoint string, n int, body func(i int) string) {
	a.t.Helper()
	for i := range n {
		if i > 0 && i%10 == 0 {
			a.clock.Advance(time.Second)
		}
		res := a.as(key, endpoint, body(i))
		require.Less(a.t, res.status, 300, "request %d: %s", i+1, res.body)
	}
}

// member is a member of a JSON body.
func (r answer) member(name string) any {
	r.t.Helper()
	var m map[string]any
	require.NoError(r.t, json.Unmarshal([]byte(r.body), &m), r.body)
	return m[name]
}

// job is the job_id of an answer to ingest.
func (r answer) job() string {
	r.t.Helper()
	require.Equal(r.t, 202, r.status, r.body)
	id, _ := r.member("job_id").(string)
	require.NotEmpty(r.t, id, r.body)
	return id
}
