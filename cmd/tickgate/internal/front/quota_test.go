package front

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// TestQuota: one caller does not take the room of all others.
func TestQuota(t *testing.T) {
	var runs, status atomic.Int32
	status.Store(200)
	g := put(t, func(w http.ResponseWriter, _ *http.Request) {
		runs.Add(1)
		w.WriteHeader(int(status.Load()))
	}, open, func(c *Config) { c.Once.MaxRecords, c.Once.TTL = 100, time.Hour })
	post := func(who, id string) reply {
		return g.send(t, "POST", "/", "x", "Authorization", who, "Idempotency-Key", id)
	}
	for i := range 5 { // half of a tenth of a hundred
		require.Equal(t, 200, post(alice, fmt.Sprint(i)).StatusCode)
	}
	denied := post(alice, "5")
	require.Equal(t, 429, denied.StatusCode)
	require.Equal(t, "720", denied.Header.Get("Retry-After"))
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(denied.text), &body))
	require.Equal(t, "idempotency_quota", body["error"])
	require.EqualValues(t, 5, runs.Load())

	require.Equal(t, "true", post(alice, "3").Header.Get("Idempotent-Replayed"), "what is kept is there")
	require.Equal(t, 200, g.send(t, "POST", "/", "x", "Authorization", alice).StatusCode, "and what needs no room passes")
	require.Equal(t, 200, post(bob, "5").StatusCode)
	g.clock.Advance(12 * time.Minute)
	require.Equal(t, 200, post(alice, "5").StatusCode, "Retry-After is right, and the denial is bound to no key")
	require.Equal(t, 429, post(alice, "6").StatusCode)

	// What leaves no result costs nothing.
	g.clock.Advance(12 * time.Minute)
	for _, refused := range []int32{503, 401, 403, 429} {
		status.Store(refused)
		require.EqualValues(t, refused, post(alice, "7").StatusCode)
	}
	status.Store(200)
	require.Equal(t, 200, post(alice, "7").StatusCode)
	require.Equal(t, "idempotency_quota", code(t, post(alice, "8")))
}

func code(t *testing.T, r reply) string {
	t.Helper()
	var body struct{ Error string }
	require.NoError(t, json.Unmarshal([]byte(r.text), &body), r.text)
	return body.Error
}

func TestQuotaThatIsGiven(t *testing.T) {
	g := put(t, func(http.ResponseWriter, *http.Request) {}, open, func(c *Config) { c.Once.PerCaller = 2 })
	statuses := []int{}
	for i := range 3 {
		statuses = append(statuses, g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", fmt.Sprint(i)).StatusCode)
	}
	require.Equal(t, []int{200, 429, 429}, statuses)
}

// TestQuotaOfAnySize: whatever the flags allow makes one.
func TestQuotaOfAnySize(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, time.Hour, policy.Day + 1, 365 * policy.Day} {
		for _, most := range []int{2, 3, 10, 2001, 1 << 30} {
			store, err := idem.NewStore(idem.Config{TTL: ttl})
			require.NoError(t, err)
			_, err = newQuota(store, most, 100, clock.NewManual(0))
			require.NoError(t, err, "%d in %v", most, ttl)
		}
	}
}

// TestFullStore says when to come again.
func TestFullStore(t *testing.T) {
	g := put(t, func(http.ResponseWriter, *http.Request) {}, open, func(c *Config) { c.Once.MaxRecords = 1 })
	require.Equal(t, 200, g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", "1").StatusCode)
	full := g.send(t, "POST", "/", "", "Authorization", bob, "Idempotency-Key", "1")
	require.Equal(t, 503, full.StatusCode)
	require.Equal(t, "10", full.Header.Get("Retry-After"))
	require.Equal(t, "idempotency_full", code(t, full))
}

// TestJunkKeys: callers that the upstream refuses leave nothing in the store.
func TestJunkKeys(t *testing.T) {
	g := put(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "real" {
			w.WriteHeader(401)
		}
	}, open, func(c *Config) { c.Once.MaxRecords = 20 })
	for i := range 40 {
		require.Equal(t, 401, g.send(t, "POST", "/", "", "X-API-Key", fmt.Sprint("junk", i), "Idempotency-Key", "1").StatusCode)
	}
	require.Equal(t, 200, g.send(t, "POST", "/", "", "X-API-Key", "real", "Idempotency-Key", "1").StatusCode)
}

// TestKeptHeaders: those for browsers, and those that were named.
func TestKeptHeaders(t *testing.T) {
	g := put(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{"Vary", "Access-Control-Allow-Origin", "X-Own", "X-Other"} {
			w.Header().Set(name, "yes")
		}
	}, open, func(c *Config) { c.Once.Headers = []string{"x-own"} })
	for _, other := range []string{"yes", ""} {
		h := g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", "1").Header
		require.Equal(t, []string{"yes", "yes", "yes", other},
			[]string{h.Get("Vary"), h.Get("Access-Control-Allow-Origin"), h.Get("X-Own"), h.Get("X-Other")})
	}
}

// TestResultTooLong: it is sent, and its retry is told.
func TestResultTooLong(t *testing.T) {
	g := put(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "0123456789") }, open,
		func(c *Config) { c.Once.MaxResult = 9 })
	post := func() reply {
		return g.send(t, "POST", "/", "", "Authorization", alice, "Idempotency-Key", "1")
	}
	require.Equal(t, "0123456789", post().text)
	require.Equal(t, "result_not_kept", code(t, post()))
}
