package main

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/admitted"
)

// TestServeRedisIsExact: two processes ask Redis for a strict policy, one at a time, many
// at once, and before an upstream; together they admit what the limit says, and no more.
func TestServeRedisIsExact(t *testing.T) {
	r := startRedis(t)
	shared := []string{"--set", "default=30/h", "--redis", r.url(), "--redis-mode", "default=strict", "--redis-deadline", "5s"}
	a, b := serve(t, nil, shared...), serve(t, nil, shared...)
	require.Contains(t, a.String(), `budgets are shared through Redis" server=`+r.url()+` policies="[backtesting.run=credit config.update=credit default=strict `)
	passed := 0
	for i := range 20 {
		passed += strings.Count([]*served{a, b}[i%2].take(t, "", "desk-7", "default").text, `"allowed":true`)
	}
	require.Equal(t, 20, passed)
	many := `{"requests":[` + strings.Repeat(`{"apikey":"desk-7","endpoint":"default"},`, 19) + `{"apikey":"desk-7","endpoint":"default"}]}`
	for _, s := range []*served{a, b} {
		passed += strings.Count(s.ask(t, "", "POST", "/v1/take", many, "Content-Type", "application/json").text, `"allowed":true`)
	}
	require.Equal(t, 30, passed)
	last := a.take(t, "", "desk-7", "default").text
	require.Contains(t, last, `"reason":"limited"`)
	require.Contains(t, last, `"limit":"30/h"`)
	require.EqualValues(t, 31, a.page(t).Rejects.Total+b.page(t).Rejects.Total)
	decided := map[string]int{}
	for _, s := range []*served{a, b} {
		for _, decision := range []string{"allowed", "denied"} {
			n, err := strconv.Atoi(s.metric(t, `tickgate_requests_total{decision="`+decision+`",policy="default"}`))
			require.NoError(t, err)
			decided[decision] += n
		}
		require.Equal(t, "0", s.metric(t, "tickgate_sync_strict_failed_total"))
	}
	require.Equal(t, map[string]int{"allowed": 30, "denied": 31}, decided, "what Redis decided counts as the policy's")

	// Before an upstream, with other callers.
	up := append([]string{"--upstream", upstream(t, noContent), "--redis-prefix", "proxy", "--headers", "both"}, shared...)
	c, d := serve(t, nil, up...), serve(t, nil, up...)
	statuses := map[int]int{}
	for i := range 33 {
		res := []*served{c, d}[i%2].send(t, "GET", "/", "", "X-API-Key", "alice-s3cret")
		statuses[res.StatusCode]++
		require.NotEmpty(t, res.Header.Get("RateLimit-Policy"))
		require.Empty(t, res.Header["Ratelimit"], "what is left is not known here")
		if res.StatusCode == 429 {
			require.Contains(t, res.text, `"reason":"30 requests/hour for default"`)
			require.Equal(t, "120", res.Header.Get("Retry-After"))
		} else {
			require.Empty(t, res.Header["Retry-After"])
		}
	}
	require.Equal(t, map[int]int{204: 30, 429: 3}, statuses)
	soon(t, "each has heard of the other", func() bool { return c.metric(t, "tickgate_sync_nodes") == "2" })
	require.NotContains(t, c.String()+d.String(), "s3cret")
	c.stop()
	require.Equal(t, exitOK, <-c.status)
}

// TestServeRedisRemembers: a retry is answered by another process with the first one's
// result.
func TestServeRedisRemembers(t *testing.T) {
	r := startRedis(t)
	var mu sync.Mutex
	runs := 0
	url := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		runs++
		fmt.Fprint(w, "run ", runs)
	})
	args := []string{"--upstream", url, "--set", "default=1000/s"}
	environment := map[string]string{"REDIS_URL": r.url()}
	a, b := serve(t, environment, args...), serve(t, environment, args...)
	require.Contains(t, a.String(), "results for retries are kept in Redis")
	post := func(s *served, id string) answer {
		return s.send(t, "POST", "/", "x", "X-API-Key", "k", "Idempotency-Key", id)
	}
	require.Equal(t, "run 1", post(a, "1").text)
	again := post(b, "1")
	require.Equal(t, "run 1", again.text)
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.Equal(t, "run 2", post(b, "2").text)
	require.Equal(t, "1", b.metric(t, `tickgate_idempotency_requests_total{outcome="replayed"}`))
}

// TestServeValkey: its own schemes are taken, by the variable too.
func TestServeValkey(t *testing.T) {
	strict := []string{"--set", "default=3/h", "--redis-mode", "default=strict", "--redis-deadline", "5s"}
	shared := func(url string) {
		t.Helper()
		a, b := serve(t, map[string]string{"REDIS_URL": url}, strict...), serve(t, nil, append([]string{"--redis", url}, strict...)...)
		for _, s := range []*served{a, b, a} {
			require.Contains(t, s.take(t, "", "k", "default").text, `"allowed":true`)
		}
		require.Contains(t, b.take(t, "", "k", "default").text, `"reason":"limited"`)
	}
	shared("valkey://127.0.0.1:" + startRedis(t).port)

	ca := newAuthority(t, "redis")
	cert, key := ca.issue(t, "server")
	secure := startRedisWith(t, "--tls-port", "--port", "0", "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca.file, "--tls-auth-clients", "no")
	shared("valkeys://127.0.0.1:" + secure.port + "?ca=" + ca.file)
}

// TestServeWithoutRedis: a process does not begin without the Redis that it is to share
// by, and says what to do.
func TestServeWithoutRedis(t *testing.T) {
	res := command(t, "", "serve", "--listen", "127.0.0.1:0", "--admin", "off", "--redis", "redis://u:s3cret@127.0.0.1:1")
	require.Equal(t, exitFailed, res.status)
	require.Contains(t, res.stderr, "redis: ")
	require.NotContains(t, res.stderr, "s3cret")
}

// TestServeKilled: a process is killed as it answers, again and again, with its limits in
// PostgreSQL and its budgets in Redis. Each one after it has the limits that were changed
// meanwhile, and what callers are told may pass exceeds the limit in no span of time by
// more than the credit of each process that was killed.
func TestServeKilled(t *testing.T) {
	db, redis := startPostgres(t), startRedis(t)
	policies := write(t, "p.yaml", `
- {endpoint: strict, limits: [100/h]}
- {endpoint: lease, limits: [10/s burst=100]}
- {endpoint: credit, limits: [100/h], credit: 5}
- {endpoint: changed, limits: [1/s]}
`)
	require.Equal(t, exitOK, pgInit(t, db, "--policies", policies).status)
	environment := []string{"TICKGATE_POSTGRES=" + db.url(), "REDIS_URL=" + redis.url(), "RATE_LIMITER_CACHE_TTL_SECONDS=1"}
	const kills, credit = 3, 5
	var told tally
	begun := time.Now()
	for i := range kills + 1 {
		args := []string{"--redis-mode", "strict=strict", "--redis-mode", "lease=lease", "--redis-deadline", "1s"}
		if i == 0 {
			args = append(args, "--redis-quiet", "1h") // the bucket of leases is full at once
		}
		p := fork(t, environment, args...)
		if i > 0 {
			p.limited(t, "changed", fmt.Sprintf("%d/s", 100+i-1))
		}
		ended := make(chan struct{})
		var callers sync.WaitGroup
		for _, endpoint := range []string{"strict", "lease", "credit"} {
			callers.Go(func() { told.call(p, endpoint, begun, ended) })
		}
		db.exec(fmt.Sprintf("UPDATE rate_limit_config SET capacity = %d, refill_rate = %[1]d WHERE endpoint = 'changed'", 100+i))
		p.limited(t, "changed", fmt.Sprintf("%d/s", 100+i))
		if i == kills {
			time.Sleep(2 * time.Second) // the last one admits what is left
			close(ended)
		}
		p.kill()
		callers.Wait()
	}
	hundred := admitted.Limit{Tokens: 100, Per: time.Hour, Capacity: 100}
	strict := told.exceeds(t, "strict", hundred, begun, 0)
	lease := told.exceeds(t, "lease", admitted.Limit{Tokens: 10, Per: time.Second, Capacity: 100}, begun, 0)
	spent := told.exceeds(t, "credit", hundred, begun, kills*credit)
	require.GreaterOrEqual(t, strict.Admitted, int64(90), "what was answered while it was killed may be lost")
	require.GreaterOrEqual(t, spent.Admitted, int64(100))
	require.GreaterOrEqual(t, lease.Admitted, int64(20), "what a process held of it is lost with it")
}

// tally is what callers were told may pass, by endpoint.
type tally struct {
	mu     sync.Mutex
	events map[string][]admitted.Event
}

// call asks for one token after the other until the process is killed or that is ended.
// Times are from begun.
func (h *tally) call(p *process, endpoint string, begun time.Time, ended <-chan struct{}) {
	for {
		before := time.Since(begun)
		ok, err := p.allowed(endpoint)
		after := time.Since(begun)
		if err != nil {
			return // it was killed
		}
		if ok {
			h.note(endpoint, admitted.Event{Before: int64(before), After: int64(after), N: 1})
		}
		select {
		case <-ended:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (h *tally) note(endpoint string, e admitted.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events == nil {
		h.events = map[string][]admitted.Event{}
	}
	h.events[endpoint] = append(h.events[endpoint], e)
}

// exceeds checks that a limit was exceeded by no more than a bound, in tokens, beside
// what the wall clock, by which Redis refills, gained since begun.
func (h *tally) exceeds(t *testing.T, endpoint string, l admitted.Limit, begun time.Time, bound float64) admitted.Overshoot {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	gained := max(0, now.Round(0).Sub(begun.Round(0))-now.Sub(begun)) // without and with the monotonic clock
	bound += l.Refill(gained) + 0.01
	o := admitted.Check(h.events[endpoint], l)
	t.Logf("%s: %d admitted in %v, too many %.2f to %.2f, at most %.2f", endpoint, o.Admitted, now.Sub(begun), o.Low, o.High, bound)
	require.LessOrEqual(t, o.Low, bound, endpoint)
	require.LessOrEqual(t, o.High, bound+2, "%s: but for the one call that reaches across either end of the span", endpoint)
	return o
}

// allowed asks for a token, unless the process is gone.
func (p *process) allowed(endpoint string) (bool, error) {
	res, err := p.client.Post("http://"+p.address+"/v1/take", "application/json", strings.NewReader(`{"apikey":"desk-7","endpoint":"`+endpoint+`"}`))
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return strings.Contains(string(text), `"allowed":true`), err
}

// TestServeSignals: a real SIGHUP reads again, and a real SIGTERM ends in order.
func TestServeSignals(t *testing.T) {
	file := write(t, "p.yaml", "- {endpoint: orders, limits: [1/s]}\n")
	p := fork(t, nil, "--policies", file)
	p.hangUp(t)
	soon(t, "it has read again", func() bool { return strings.Contains(p.String(), "policies were read again") })
	p.terminate(t)
	require.Contains(t, p.String(), "shutting down")
	require.Equal(t, exitOK, p.cmd.ProcessState.ExitCode())
}
