package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// Who is let in later is not told for a day that they are not.
func TestARefusalOfTheCallerIsNotKept(t *testing.T) {
	for _, status := range []int{401, 403} {
		letIn := false
		s := serve(t, "/", onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !letIn {
				w.WriteHeader(status)
			}
		})))
		post := func() answer { return ask(t, s, "POST", "/", "x", "X-API-Key", "a", "Idempotency-Key", "k") }
		require.Equal(t, status, post().status)
		letIn = true
		a := post()
		require.Equal(t, 200, a.status)
		require.NotContains(t, a.header, "Idempotent-Replayed")
	}
}

// A page of another origin may read a replay as it may read the first answer.
func TestReplaysForBrowsers(t *testing.T) {
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Access-Control-Allow-Origin", "https://inner.example")
		w.Header().Set("Access-Control-Expose-Headers", "Location")
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Add("Vary", "Origin")
		w.WriteHeader(201)
	})
	s := serve(t, "/", onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(inner))
	for range 2 {
		a := ask(t, s, "POST", "/", "x", "X-API-Key", "a", "Idempotency-Key", "k")
		require.Equal(t, 201, a.status)
		require.Equal(t, []string{"https://inner.example"}, a.header["Access-Control-Allow-Origin"])
		require.Equal(t, "Location", a.header.Get("Access-Control-Expose-Headers"))
		require.Equal(t, "true", a.header.Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "Origin", a.header.Get("Vary"))
	}

	// What a handler outside says is of this request, not of the first one.
	once := onceOf(t, storeOf(t, clock.NewManual(0))).Wrap(ok)
	s = serve(t, "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		once.ServeHTTP(w, r)
	}))
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		a := ask(t, s, "POST", "/", "x", "X-API-Key", "a", "Idempotency-Key", "k", "Origin", origin)
		require.Equal(t, []string{origin}, a.header["Access-Control-Allow-Origin"])
	}
}

func TestDefaultHeadersCanBeAddedTo(t *testing.T) {
	for _, name := range httplimit.DefaultHeaders() {
		require.NoError(t, httplimit.CheckHeader(name))
		require.Equal(t, http.CanonicalHeaderKey(name), name)
	}
	require.ErrorContains(t, httplimit.CheckHeader("set-cookie"), "must not be kept")
	require.ErrorContains(t, httplimit.CheckHeader("a b"), "must be the name of a header")
	httplimit.DefaultHeaders()[0] = "X-Changed"
	require.NotContains(t, httplimit.DefaultHeaders(), "X-Changed")
}

// A body that does not come is the client's fault, and is told so.
func TestASlowBodyIsA408(t *testing.T) {
	store := storeOf(t, clock.NewManual(0))
	s := httptest.NewUnstartedServer(onceOf(t, store, func(c *httplimit.IdempotencyConfig) {
		c.Endpoint = func(*http.Request) string { return "x" }
	}).Wrap(ok))
	s.Config.ReadTimeout = 50 * time.Millisecond
	s.Start()
	defer s.Close()
	a := raw(t, s, func(w io.Writer) {
		fmt.Fprint(w, "POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: a\r\nIdempotency-Key: k\r\nContent-Length: 5\r\n\r\nhe")
	})
	require.Equal(t, 408, a.status)
	require.Equal(t, "body_slow", a.code(t))
	require.Zero(t, store.Stats().Records)
}

// refusing is a store that has a reason of its own.
type refusing struct{ *idem.Store }

func (refusing) Begin(context.Context, idem.Key, idem.Fingerprint) (idem.Claim, error) {
	return idem.Claim{}, fmt.Errorf("begin: %w", &httplimit.Error{
		Status: 429, Code: "too_many", Detail: "Too many.", Retry: 1500 * time.Millisecond, Err: errTwoKeys,
	})
}

func TestAStoreCanAnswerByItself(t *testing.T) {
	s := serve(t, "/", onceOf(t, refusing{storeOf(t, clock.NewManual(0))}).Wrap(ok))
	a := ask(t, s, "POST", "/", "", "X-API-Key", "a", "Idempotency-Key", "k")
	require.Equal(t, 429, a.status)
	require.Equal(t, "too_many", a.code(t))
	require.Equal(t, "2", a.header.Get("Retry-After"))
}

// A few large results do not take the room for all others' small ones.
func TestLargeResultsLeaveRoom(t *testing.T) {
	store, err := idem.NewStore(idem.Config{Clock: clock.NewManual(0), MaxBytes: 256 << 10})
	require.NoError(t, err)
	s := serve(t, "/", onceOf(t, store).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") == "greedy" {
			_, _ = io.WriteString(w, strings.Repeat("x", 20<<10))
		}
	})))
	notKept := 0
	for i := range 20 {
		key := fmt.Sprint(i)
		require.Equal(t, 200, ask(t, s, "POST", "/", "", "X-API-Key", "greedy", "Idempotency-Key", key).status)
		again := ask(t, s, "POST", "/", "", "X-API-Key", "greedy", "Idempotency-Key", key)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		if again.status == 409 {
			notKept++
			require.Equal(t, "result_not_kept", again.code(t))
		}
	}
	require.Equal(t, 14, notKept, "six take 120 KiB of the 128 that there are for them")
	for i := range 200 {
		require.Equal(t, 200, ask(t, s, "POST", "/", "", "X-API-Key", "modest", "Idempotency-Key", fmt.Sprint(i)).status)
	}
}
