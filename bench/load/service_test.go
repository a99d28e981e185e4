package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// ask sends one query to a service, without a network.
func ask(t *testing.T, s *service, caller string) *can {
	r, err := http.NewRequest(http.MethodGet, queryPath, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+caller)
	c := &can{header: http.Header{}, status: http.StatusOK}
	s.mux.ServeHTTP(c, r)
	return c
}

func open(t *testing.T, kind string) *service {
	s, err := newService(kind, 100, clock.NewManual(0))
	require.NoError(t, err)
	return s
}

func TestBareAndAllowDifferInTwoFieldsOnly(t *testing.T) {
	bare := ask(t, open(t, "bare"), "a")
	allow := ask(t, open(t, "allow"), "a")
	require.Equal(t, 200, bare.status)
	require.Equal(t, 200, allow.status)
	require.Equal(t, bare.body.String(), allow.body.String())
	require.Len(t, bare.header, 1)
	require.Len(t, allow.header, 3)
	require.Equal(t, `"rate";q=1000000;w=1`, allow.header.Get("RateLimit-Policy"))
}

func TestDenyLetsTheFirstRequestOfEachCallerPass(t *testing.T) {
	s := open(t, "deny")
	for _, who := range []string{"a", "b"} {
		require.Equal(t, 200, ask(t, s, who).status)
		for range 3 {
			c := ask(t, s, who)
			require.Equal(t, 429, c.status)
			require.Equal(t, "application/problem+json", c.header.Get("Content-Type"))
			require.Equal(t, "86400", c.header.Get("Retry-After"))
		}
	}
}

func TestCannedIsByteForByteTheOther(t *testing.T) {
	for _, kind := range []string{"allow", "deny"} {
		live := open(t, kind)
		ask(t, live, "a")
		want, canned := ask(t, live, "a"), open(t, kind+"-canned")
		for range 2 {
			got := ask(t, canned, "anybody")
			require.Equal(t, want.status, got.status)
			require.Equal(t, want.header, got.header)
			require.Equal(t, want.body.String(), got.body.String())
		}
		require.Nil(t, canned.gate, "no limiter stands before it")
	}
}

func TestEveryKindServes(t *testing.T) {
	for _, kind := range kinds {
		if !slices.Contains(takes, kind) {
			require.Contains(t, []int{200, 429}, ask(t, open(t, kind), "a").status, kind)
		}
	}
}

func TestTheBareCheckAPIAnswers(t *testing.T) {
	for _, kind := range []string{takeBare, takeTimed} {
		r, err := takeRequest(t.Context(), &child{kind: kind})
		require.NoError(t, err)
		w := httptest.NewRecorder()
		open(t, kind).mux.ServeHTTP(w, r)
		require.Equal(t, 200, w.Code)
		require.True(t, json.Valid(w.Body.Bytes()), w.Body)
	}
}

func TestTheAddressOfServeIsFound(t *testing.T) {
	require.Equal(t, "http://127.0.0.1:36123", takeAddress("time=2026-11-30T22:00:44.983Z level=INFO msg=serving address=127.0.0.1:36123 tls=false\n"))
	require.Equal(t, "", takeAddress("level=INFO msg=\"new policies\" version=1\n"))
}

func TestParseCPU(t *testing.T) {
	d, err := parseCPU("42 (a) b (c) S 1 42 42 0 -1 4194304 10 0 0 0 250 50 7 7 20 0 5 0 100")
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, d)
	_, err = parseCPU("42 (load) S 1")
	require.Error(t, err)
	_, err = parseCPU("42 (load) S 1 42 42 0 -1 4194304 10 0 0 0 x 50")
	require.Error(t, err)
}
