package httplimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const ingest = "POST /memory/ingest"

func TestDenialSaysWhatTheLimitIs(t *testing.T) {
	g, c := gateOf(t, policyOf(t, ingest, "100/h name=hour"))
	s := serve(t, ingest, limiterOf(t, g).Wrap(ok))
	for range 100 {
		require.Equal(t, 200, ask(t, s, "POST", "/memory/ingest", "", "X-API-Key", "alice").status)
	}
	c.Advance(10500 * time.Millisecond)
	a := ask(t, s, "POST", "/memory/ingest?q=%22%0a", "", "X-API-Key", "alice")
	require.Equal(t, 429, a.status)
	require.Equal(t, "26", a.header.Get("Retry-After"), "25.5 s, rounded up")
	require.Equal(t, map[string]any{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded", "title": "Quota exceeded",
		"status": 429.0, "violated-policies": []any{"hour"}, "error": "rate_limit_exceeded",
		"reason": "100 requests/hour for POST /memory/ingest", "retry_after_seconds": 26.0, "limit_window": "3600s",
		"detail": "The limit is used up.", "instance": "/memory/ingest",
	}, a.problem(t))
	require.Equal(t, []string{`"hour";q=100;w=3600`}, a.header["Ratelimit-Policy"])
	require.Equal(t, []string{`"hour";r=0;t=26`}, a.header["Ratelimit"])
	require.Equal(t, strconv.Itoa(len(a.body)), a.header.Get("Content-Length"))

	c.Advance(25 * time.Second)
	require.Equal(t, 429, ask(t, s, "POST", "/memory/ingest", "", "X-API-Key", "alice").status)
	c.Advance(time.Second)
	require.Equal(t, 200, ask(t, s, "POST", "/memory/ingest", "", "X-API-Key", "alice").status, "Retry-After is right")
	require.Equal(t, 200, ask(t, s, "POST", "/memory/ingest", "", "X-API-Key", "bob").status, "another caller")
}

// Endpoints that no policy names are told of the default policy, under their own name.
func TestDenialUnderTheDefaultPolicy(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "default", "2/250ms rolling", "5/2d"))
	s := serve(t, "GET /a/{id}", limiterOf(t, g).Wrap(ok))
	for range 2 {
		require.Equal(t, 200, ask(t, s, "GET", "/a/1", "", "X-API-Key", "alice").status)
	}
	a := ask(t, s, "GET", "/a/2", "", "X-API-Key", "alice")
	require.Equal(t, 429, a.status, "another path of the pattern is the same endpoint")
	p := a.problem(t)
	require.Equal(t, "2 requests/250 milliseconds for GET /a/{id}", p["reason"])
	require.Equal(t, "0.25s", p["limit_window"])
	require.Equal(t, []any{"2/250ms rolling"}, p["violated-policies"])
	require.Equal(t, "/a/2", p["instance"])
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Equal(t, []string{`"2/250ms rolling";q=2;w=1, "5/2d";q=5;w=172800`}, a.header["Ratelimit-Policy"])
}

func TestWhatCannotPassHasNoRetryAfter(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /costly", "5/s name=second"), policyOf(t, "GET /closed", "deny"))
	l := limiterOf(t, g, func(c *httplimit.LimitConfig) {
		c.Cost = func(r *http.Request) int64 { n, _ := strconv.ParseInt(r.FormValue("n"), 10, 64); return n }
		c.Headers = httplimit.Both
	})
	s := serve(t, "GET /costly", l.Wrap(ok))
	require.Equal(t, 200, ask(t, s, "GET", "/costly?n=5", "", "X-API-Key", "k").status)
	require.Equal(t, 200, ask(t, s, "GET", "/costly?n=0", "", "X-API-Key", "k").status, "a look")
	a := ask(t, s, "GET", "/costly?n=6", "", "X-API-Key", "k")
	require.Equal(t, 429, a.status)
	require.NotContains(t, a.header, "Retry-After")
	require.NotContains(t, a.problem(t), "retry_after_seconds")
	require.Equal(t, []string{`"second";r=0`}, a.header["Ratelimit"])
	require.NotContains(t, a.header, "X-Ratelimit-Reset")
	require.Equal(t, "limiter_failed", ask(t, s, "GET", "/costly?n=-1", "", "X-API-Key", "k").code(t))

	a = ask(t, serve(t, "GET /closed", limiterOf(t, g).Wrap(ok)), "GET", "/closed", "", "X-API-Key", "k")
	require.Equal(t, 429, a.status)
	require.NotContains(t, a.header, "Retry-After")
	require.Equal(t, []string{`"deny";q=0`}, a.header["Ratelimit-Policy"])
	require.Equal(t, []string{`"deny";r=0`}, a.header["Ratelimit"])
	require.Equal(t, "no requests for GET /closed", a.problem(t)["reason"])
}

func TestMissingKeyIsTheUsersChoice(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "default", "1/h"))
	closed := serve(t, "/", limiterOf(t, g).Wrap(ok))
	a := ask(t, closed, "GET", "/", "")
	require.Equal(t, 401, a.status)
	require.Equal(t, "caller_unknown", a.code(t))
	require.NotEmpty(t, a.header.Get("WWW-Authenticate"))
	require.Equal(t, 401, ask(t, closed, "GET", "/", "", "X-API-Key", "").status, "an empty one names nobody")

	open := serve(t, "/", limiterOf(t, g, func(c *httplimit.LimitConfig) { c.OnMissing = httplimit.FailOpen }).Wrap(ok))
	for range 3 {
		a := ask(t, open, "GET", "/", "")
		require.Equal(t, 200, a.status)
		require.NotContains(t, a.header, "Ratelimit")
	}
	require.Equal(t, 400, ask(t, open, "GET", "/", "", "X-API-Key", strings.Repeat("k", 257)).status, "malformed is not missing")
	require.Equal(t, 200, ask(t, open, "GET", "/", "", "X-API-Key", strings.Repeat("k", 256)).status)
}

func TestLimiterConfigReportsEveryFault(t *testing.T) {
	_, err := httplimit.NewLimiter(httplimit.LimitConfig{Headers: 9})
	require.Error(t, err)
	for _, field := range []string{"Gate", "Key", "OnMissing", "Headers = \"HeaderMode(9)\""} {
		require.ErrorContains(t, err, field)
	}
	fault := (*tickgate.ConfigError)(nil)
	require.ErrorAs(t, err, &fault)
}

func TestHeaderModes(t *testing.T) {
	for mode, want := range map[httplimit.HeaderMode][2]bool{
		httplimit.IETF: {true, false}, httplimit.Legacy: {false, true}, httplimit.Both: {true, true}, httplimit.None: {},
	} {
		g, _ := gateOf(t, policyOf(t, "GET /", "10/s name=second"))
		s := serve(t, "GET /", limiterOf(t, g, func(c *httplimit.LimitConfig) { c.Headers = mode }).Wrap(ok))
		for range 10 {
			ask(t, s, "GET", "/", "", "X-API-Key", "k")
		}
		a := ask(t, s, "GET", "/", "", "X-API-Key", "k")
		require.Equal(t, 429, a.status)
		require.Equal(t, "1", a.header.Get("Retry-After"), mode)
		require.Equal(t, want[0], a.header["Ratelimit"] != nil, mode)
		require.Equal(t, want[0], a.header["Ratelimit-Policy"] != nil, mode)
		require.Equal(t, want[1], a.header["X-Ratelimit-Limit"] != nil, mode)
		if want[1] {
			require.Equal(t, "10", a.header.Get("X-RateLimit-Limit"))
			require.Equal(t, "0", a.header.Get("X-RateLimit-Remaining"))
			require.Equal(t, "1", a.header.Get("X-RateLimit-Reset"))
		}
	}
}

// What is told follows Apply at once.
func TestHeadersFollowApply(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /", "10/s name=second"))
	s := serve(t, "GET /", limiterOf(t, g).Wrap(ok))
	require.Equal(t, `"second";q=10;w=1`, ask(t, s, "GET", "/", "", "X-API-Key", "k").header.Get("RateLimit-Policy"))
	for i := range 3 {
		require.NoError(t, g.Apply(policy.Set{policyOf(t, "GET /", fmt.Sprintf("%d/m name=minute", 20+i))}))
		a := ask(t, s, "GET", "/", "", "X-API-Key", "k")
		require.Equal(t, fmt.Sprintf(`"minute";q=%d;w=60`, 20+i), a.header.Get("RateLimit-Policy"))
		require.True(t, strings.HasPrefix(a.header.Get("RateLimit"), `"minute";r=`))
	}
	require.NoError(t, g.Apply(policy.Set{policyOf(t, "GET /", "unlimited")}))
	a := ask(t, s, "GET", "/", "", "X-API-Key", "k")
	require.Equal(t, 200, a.status)
	require.NotContains(t, a.header, "Ratelimit-Policy")
	require.NotContains(t, a.header, "Ratelimit")
}

// Two limiters around one handler are told of as one list.
func TestLimitersStack(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /", "10/s name=caller"), policyOf(t, "firm", "20/s name=firm"))
	firm := limiterOf(t, g, func(c *httplimit.LimitConfig) {
		c.Key = func(*http.Request) (string, error) { return "firm", nil }
		c.Endpoint = func(*http.Request) string { return "firm" }
	})
	s := serve(t, "GET /", firm.Wrap(limiterOf(t, g).Wrap(ok)))
	for range 2 { // the second finds nothing of the first in what is shared
		a := ask(t, s, "GET", "/", "", "X-API-Key", "k")
		list, err := readSF(a.header["Ratelimit-Policy"])
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, []string{"firm", "caller"}, []string{list[0].name, list[1].name})
		list, err = readSF(a.header["Ratelimit"])
		require.NoError(t, err)
		require.Len(t, list, 2)
	}
}

func TestHandlersCanBeReplaced(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /", "1/h name=hour"))
	var denied httplimit.Denial
	var failed error
	l := limiterOf(t, g, func(c *httplimit.LimitConfig) {
		c.Deny = func(w http.ResponseWriter, _ *http.Request, d *httplimit.Denial) { denied = *d; w.WriteHeader(420) }
		c.Error = func(w http.ResponseWriter, _ *http.Request, e *httplimit.Error) { failed = e; w.WriteHeader(499) }
	})
	s := serve(t, "GET /", l.Wrap(ok))
	ask(t, s, "GET", "/", "", "X-API-Key", "k")
	a := ask(t, s, "GET", "/", "", "X-API-Key", "k")
	require.Equal(t, 420, a.status)
	require.Equal(t, "3600", a.header.Get("Retry-After"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	require.NotEmpty(t, a.header.Get("RateLimit"))
	require.Equal(t, int64(3600), denied.RetryAfter)
	require.Equal(t, "GET /", denied.Endpoint)
	require.Equal(t, "hour", denied.Limit.Name)
	require.Equal(t, tickgate.Limited, denied.Decision.Reason)
	require.Equal(t, 499, ask(t, s, "GET", "/", "").status)
	require.ErrorIs(t, failed, httplimit.ErrKeyMissing)
}

func TestOtherReasons(t *testing.T) {
	c := clock.NewManual(0)
	g, err := tickgate.New(tickgate.Config{
		Policies: policy.Set{policyOf(t, "GET /", "5/s")}, Clock: c, MaxKeys: 1, OnFull: tickgate.RejectNew,
	})
	require.NoError(t, err)
	s := serve(t, "GET /", limiterOf(t, g).Wrap(ok))
	require.Equal(t, 200, ask(t, s, "GET", "/", "", "X-API-Key", "k").status)

	a := ask(t, s, "GET", "/", "", "X-API-Key", "another")
	require.Equal(t, 503, a.status)
	require.Equal(t, "limiter_full", a.code(t))

	g.Block("k")
	a = ask(t, s, "GET", "/", "", "X-API-Key", "k")
	require.Equal(t, 403, a.status)
	require.Equal(t, "blocked", a.code(t))
	require.NotContains(t, a.header, "Retry-After")
	g.Unblock("k")

	h, err := g.Handle("k", "GET /")
	require.NoError(t, err)
	h.Ban(c.Now().Add(90 * time.Second))
	a = ask(t, s, "GET", "/", "", "X-API-Key", "k")
	require.Equal(t, 429, a.status)
	require.Equal(t, "90", a.header.Get("Retry-After"))
	require.Equal(t, []any{}, a.problem(t)["violated-policies"])
	require.Equal(t, "banned for GET /", a.problem(t)["reason"])

	other := serve(t, "GET /other", limiterOf(t, g).Wrap(ok))
	a = ask(t, other, "GET", "/other", "", "X-API-Key", "k")
	require.Equal(t, 500, a.status, "no policy")
	require.Equal(t, "limiter_failed", a.code(t))
}

// Outside a mux there is no pattern; taking the path would be a key for each path.
func TestNoPatternIsAnError(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "default", "5/s"))
	mux := http.NewServeMux()
	mux.Handle("GET /x/{id}", ok)
	var failed error
	l := limiterOf(t, g, func(c *httplimit.LimitConfig) {
		c.Error = func(w http.ResponseWriter, r *http.Request, e *httplimit.Error) {
			failed = e
			httplimit.WriteError(w, r, e)
		}
	})
	s := serve(t, "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Pattern = ""
		l.Wrap(mux).ServeHTTP(w, r)
	}))
	require.Equal(t, 500, ask(t, s, "GET", "/x/1", "", "X-API-Key", "k").status)
	require.True(t, errors.Is(failed, httplimit.ErrNoEndpoint))
}

// HEAD on a limited handler gets the headers and no body.
func TestDenialOfHead(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /", "1/h"))
	s := serve(t, "GET /", limiterOf(t, g).Wrap(ok))
	ask(t, s, "GET", "/", "", "X-API-Key", "k")
	a := ask(t, s, "HEAD", "/", "", "X-API-Key", "k")
	require.Equal(t, 429, a.status)
	require.Empty(t, a.body)
	require.Equal(t, "3600", a.header.Get("Retry-After"))
}

// A budget that is shared with other servers denies before its limit does.
func TestDenialWhileOthersAreNotTold(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /a", "100/h name=hour"))
	ledger, err := g.Share([]tickgate.Budget{{Endpoint: "GET /a", Mode: tickgate.CreditMode, Credit: 1}})
	require.NoError(t, err)
	ledger.SetRetry("GET /a", 20*time.Millisecond)
	s := serve(t, "GET /a", limiterOf(t, g).Wrap(ok))
	require.Equal(t, 200, ask(t, s, "GET", "/a", "", "X-API-Key", "alice").status)
	a := ask(t, s, "GET", "/a", "", "X-API-Key", "alice")
	require.Equal(t, 429, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Equal(t, []any{"hour"}, a.problem(t)["violated-policies"])
	require.Contains(t, a.problem(t)["detail"], "until other servers have been told")
}
