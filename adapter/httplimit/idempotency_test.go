package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// jobs is a handler that starts a job for each request it sees.
type jobs struct{ n atomic.Int64 }

func (j *jobs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/jobs")
	w.Header().Set("Set-Cookie", "session=secret")
	w.Header().Set("X-Own", "1")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"job_id":%d,"of":%q}`, j.n.Add(1), body)
}

func byField(c *httplimit.IdempotencyConfig) {
	c.Field, c.Missing = "ingest_id", httplimit.HashContent
}

func TestARetryGetsTheFirstResult(t *testing.T) {
	j, c := &jobs{}, clock.NewManual(0)
	s := serve(t, ingest, onceOf(t, storeOf(t, c)).Wrap(j))
	first := ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", `"k 1"`)
	require.Equal(t, 202, first.status)
	require.Equal(t, `{"job_id":1,"of":"text"}`, first.body)
	require.NotContains(t, first.header, "Idempotent-Replayed")
	require.Equal(t, "session=secret", first.header.Get("Set-Cookie"))

	again := ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", `"k 1"`)
	require.Equal(t, 202, again.status)
	require.Equal(t, first.body, again.body)
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, "/jobs", again.header.Get("Location"))
	require.Equal(t, "application/json", again.header.Get("Content-Type"))
	require.NotContains(t, again.header, "Set-Cookie")
	require.NotContains(t, again.header, "X-Own")

	for what, a := range map[string]answer{
		"another caller":    ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "bob", "Idempotency-Key", `"k 1"`),
		"another key":       ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", "k2"),
		"the hash as a key": ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", "sha256:00"),
	} {
		require.Equal(t, 202, a.status, what)
		require.NotContains(t, a.header, "Idempotent-Replayed", what)
	}
	require.Equal(t, int64(4), j.n.Load())

	for _, path := range []string{"/memory/ingest", "/memory/ingest?x=1"} {
		body := map[bool]string{true: "text", false: "other"}[strings.Contains(path, "?")]
		a := ask(t, s, "POST", path, body, "X-API-Key", "alice", "Idempotency-Key", `"k 1"`)
		require.Equal(t, 422, a.status)
		require.Equal(t, "idempotency_key_reused", a.code(t))
	}
	require.Equal(t, int64(4), j.n.Load())

	c.Advance(24*time.Hour - 1)
	require.Equal(t, first.body, ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", `"k 1"`).body)
	c.Advance(1)
	require.NotEqual(t, first.body, ask(t, s, "POST", "/memory/ingest", "text", "X-API-Key", "alice", "Idempotency-Key", `"k 1"`).body, "the id expires")
}

// A key that is used for another resource under the same pattern is not a retry.
func TestAKeyIsBoundToThePath(t *testing.T) {
	j := &jobs{}
	s := serve(t, "POST /users/{id}/jobs", onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(j))
	require.Equal(t, 202, ask(t, s, "POST", "/users/1/jobs", "x", "X-API-Key", "a", "Idempotency-Key", "k").status)
	require.Equal(t, 422, ask(t, s, "POST", "/users/2/jobs", "x", "X-API-Key", "a", "Idempotency-Key", "k").status)
}

func TestIDFromTheBody(t *testing.T) {
	j := &jobs{}
	s := serve(t, ingest, onceOf(t, storeOf(t, clock.NewManual(0)), byField).Wrap(j))
	post := func(body string, headers ...string) answer {
		return ask(t, s, "POST", "/memory/ingest", body, append(headers, "X-API-Key", "a")...)
	}
	one := post(`{"ingest_id":"one","content":"c"}`)
	require.Equal(t, 202, one.status)
	require.Equal(t, `{"job_id":1,"of":"{\"ingest_id\":\"one\",\"content\":\"c\"}"}`, one.body, "the body arrives intact")
	require.Equal(t, one.body, post(`{"ingest_id":"one","content":"c"}`).body)
	require.Equal(t, one.body, post(`{"ingest_id":"one","content":"c"}`, "Idempotency-Key", "other").body, "the field goes before the header")
	require.Equal(t, 422, post(`{"ingest_id":"one","content":"d"}`).status)
	require.Equal(t, 422, post(`{"content":"d"}`, "Idempotency-Key", "one").status, "the same key, wherever it stands")
	require.Equal(t, int64(1), j.n.Load())

	hashed := post(`{"content":"c"}`)
	require.Equal(t, int64(2), j.n.Load())
	require.Equal(t, hashed.body, post(`{"content":"c"}`).body, "the same content")
	require.Equal(t, hashed.body, post(`{"content":"c"}`).body)
	require.NotEqual(t, hashed.body, post(`{"content":"d"}`).body)
	require.Equal(t, int64(3), j.n.Load())
}

func TestMissingID(t *testing.T) {
	j := &jobs{}
	store := storeOf(t, clock.NewManual(0))
	required := serve(t, "/", onceOf(t, store).Wrap(j))
	a := ask(t, required, "POST", "/", "x", "X-API-Key", "a")
	require.Equal(t, 400, a.status)
	require.Equal(t, "idempotency_key_missing", a.code(t))
	require.Equal(t, 401, ask(t, required, "POST", "/", "x", "Idempotency-Key", "k").status, "no scope")
	require.Equal(t, int64(0), j.n.Load())
	require.Equal(t, 202, ask(t, required, "GET", "/", "").status, "a method that is not protected")

	inField := serve(t, "/", onceOf(t, store, func(c *httplimit.IdempotencyConfig) { c.Field = "id" }).Wrap(j))
	require.Equal(t, 400, ask(t, inField, "POST", "/", `{}`, "X-API-Key", "a").status)
	require.Equal(t, int64(1), j.n.Load())

	for _, field := range []string{"", "id"} {
		pass := serve(t, "/", onceOf(t, store, func(c *httplimit.IdempotencyConfig) {
			c.Field, c.Missing = field, httplimit.PassThrough
		}).Wrap(j))
		for range 2 {
			a := ask(t, pass, "POST", "/", `{"x":1}`, "X-API-Key", "a")
			require.Equal(t, 202, a.status)
			require.Contains(t, a.body, `{\"x\":1}`)
			require.NotContains(t, a.header, "Idempotent-Replayed")
		}
	}
	require.Equal(t, int64(5), j.n.Load())
}

// Of many at once exactly one runs; the others are told to wait, and then get its
// result.
func TestConcurrentFirstRequests(t *testing.T) {
	c := clock.NewManual(0)
	started, release := make(chan struct{}), make(chan struct{})
	var runs atomic.Int64
	s := serve(t, ingest, onceOf(t, storeOf(t, c)).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs.Add(1)
		close(started)
		<-release
		_, _ = io.WriteString(w, "done")
	})))
	post := func() answer {
		return ask(t, s, "POST", "/memory/ingest", "x", "X-API-Key", "a", "Idempotency-Key", "k")
	}
	first := make(chan answer)
	go func() { first <- post() }()
	<-started
	c.Advance(500 * time.Millisecond)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a := post()
			if a.status != 409 || a.header.Get("Retry-After") != "5" || a.code(t) != "idempotency_in_flight" {
				t.Errorf("%+v", a)
			}
		})
	}
	wg.Wait()
	close(release)
	require.Equal(t, "done", (<-first).body)
	a := post()
	require.Equal(t, "done", a.body)
	require.Equal(t, "true", a.header.Get("Idempotent-Replayed"))
	require.Equal(t, int64(1), runs.Load())
}

func TestWhichResultsAreKept(t *testing.T) {
	for status, kept := range map[int]bool{
		200: true, 201: true, 204: true, 302: true, 304: true, 400: true, 404: true, 409: true, 422: true, 499: true,
		401: false, 403: false, 407: false, 408: false, 425: false, 429: false, 500: false, 503: false, 599: false,
	} {
		runs := 0
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { runs++; w.WriteHeader(status) })
		post := func(s *httplimit.Idempotency) {
			srv := serve(t, "/", s.Wrap(h))
			for range 2 {
				req, err := http.NewRequest("POST", srv.URL, nil)
				require.NoError(t, err)
				req.Header.Set("X-API-Key", "a")
				req.Header.Set("Idempotency-Key", "k")
				res, err := srv.Client().Transport.RoundTrip(req) // follows nothing
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Equal(t, status, res.StatusCode)
			}
		}
		post(onceOf(t, storeOf(t, clock.NewManual(0))))
		require.Equal(t, map[bool]int{true: 1, false: 2}[kept], runs, status)
		if status >= 500 {
			runs = 0
			post(onceOf(t, storeOf(t, clock.NewManual(0)), func(c *httplimit.IdempotencyConfig) { c.KeepServerErrors = true }))
			require.Equal(t, 1, runs, status)
		}
	}
}

func TestAFullStoreIsAnError(t *testing.T) {
	store, err := idem.NewStore(idem.Config{Clock: clock.NewManual(0), MaxRecords: 1})
	require.NoError(t, err)
	s := serve(t, "/", onceOf(t, store).Wrap(ok))
	require.Equal(t, 200, ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "1").status)
	a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "2")
	require.Equal(t, 503, a.status)
	require.Equal(t, "idempotency_full", a.code(t))
	require.Equal(t, "10", a.header.Get("Retry-After"))
}

// The limit comes first: a denial is bound to no key, and the retry runs.
func TestADenialIsNotBoundToAKey(t *testing.T) {
	g, c := gateOf(t, policyOf(t, ingest, "1/m name=minute"))
	j := &jobs{}
	s := serve(t, ingest, limiterOf(t, g).Wrap(onceOf(t, storeOf(t, c)).Wrap(j)))
	post := func(key string) answer {
		return ask(t, s, "POST", "/memory/ingest", "x", "X-API-Key", "a", "Idempotency-Key", key)
	}
	require.Equal(t, 202, post("1").status)
	require.Equal(t, 429, post("2").status)
	require.Equal(t, 429, post("1").status, "a replay is limited too")
	c.Advance(time.Minute)
	a := post("2")
	require.Equal(t, 202, a.status)
	require.NotContains(t, a.header, "Idempotent-Replayed")
	require.Equal(t, `"minute";r=0;t=60`, a.header.Get("RateLimit"))
	c.Advance(time.Minute)
	a = post("2")
	require.Equal(t, "true", a.header.Get("Idempotent-Replayed"))
	require.Equal(t, `"minute";r=0;t=60`, a.header.Get("RateLimit"), "of this request, not of the first")
}

func TestAReplayCanBeFree(t *testing.T) {
	g, c := gateOf(t, policyOf(t, ingest, "3/h"), policyOf(t, "firm", "3/h"))
	refunding := func(c *httplimit.LimitConfig) { c.RefundReplays = true }
	firm := limiterOf(t, g, refunding, func(c *httplimit.LimitConfig) {
		c.Key, c.Endpoint = func(*http.Request) (string, error) { return "firm", nil }, func(*http.Request) string { return "firm" }
	})
	j := &jobs{}
	s := serve(t, ingest, firm.Wrap(limiterOf(t, g, refunding).Wrap(onceOf(t, storeOf(t, c)).Wrap(j))))
	for range 20 {
		require.Equal(t, 202, ask(t, s, "POST", "/memory/ingest", "x", "X-API-Key", "a", "Idempotency-Key", "1").status)
	}
	for _, endpoint := range []string{ingest, "firm"} {
		key := map[bool]string{true: "firm", false: "a"}[endpoint == "firm"]
		require.Equal(t, int64(2), g.Take(key, endpoint, 0).Remaining, endpoint)
	}
	require.Equal(t, 422, ask(t, s, "POST", "/memory/ingest", "y", "X-API-Key", "a", "Idempotency-Key", "1").status)
	require.Equal(t, int64(1), g.Take("a", ingest, 0).Remaining, "only a replay is free")
	require.Equal(t, int64(1), j.n.Load())
}

func TestIdempotencyConfigReportsEveryFault(t *testing.T) {
	_, err := httplimit.NewIdempotency(httplimit.IdempotencyConfig{
		Missing: 9, MaxBody: -1, MaxResult: -1, ExtendEvery: -1,
		Headers: []string{"Location", "set-cookie", "", "RateLimit", "a b"},
	})
	for _, field := range []string{
		"Store", "Scope", "Missing", "MaxBody", "MaxResult", "ExtendEvery", "Headers[1]", "Headers[2]", "Headers[3]", "Headers[4]",
	} {
		require.ErrorContains(t, err, field+" = ")
	}
	require.NotContains(t, err.Error(), "Headers[0]")
	fault := (*tickgate.ConfigError)(nil)
	require.ErrorAs(t, err, &fault)

	_, err = httplimit.NewIdempotency(httplimit.IdempotencyConfig{
		Store: storeOf(t, clock.NewManual(0)), Scope: apikey, ExtendEvery: 30 * time.Second,
	})
	require.ErrorContains(t, err, "less than the store's lease of 30s")
}

// What an operator lists is kept, and nothing else.
func TestOwnHeadersOnReplay(t *testing.T) {
	j := &jobs{}
	s := serve(t, "/", onceOf(t, storeOf(t, clock.NewManual(0)), func(c *httplimit.IdempotencyConfig) {
		c.Headers = []string{"x-own", "x-own"}
	}).Wrap(j))
	for _, replayed := range []string{"", "true"} {
		a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "1")
		require.Equal(t, []string{"1"}, a.header["X-Own"])
		require.Equal(t, replayed, a.header.Get("Idempotent-Replayed"))
		require.Equal(t, replayed == "", a.header.Get("Location") != "")
	}
}
