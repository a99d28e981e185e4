package memory_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

func TestAPIKey(t *testing.T) {
	for _, c := range []struct {
		name, key string // none: ""
		header    http.Header
	}{
		{"none", "", http.Header{}},
		{"bearer", "k", http.Header{"Authorization": {"Bearer k"}}},
		{"bearer in any case", "k", http.Header{"Authorization": {"bEARER  k "}}},
		{"x-api-key", "k", http.Header{"X-Api-Key": {"k"}}},
		{"both the same", "k", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}}},
		{"both and different", "", http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"l"}}},
		{"x-api-key twice", "", http.Header{"X-Api-Key": {"k", "k"}}},
		{"bearer twice", "", http.Header{"Authorization": {"Bearer k", "Bearer l"}}},
		{"another scheme", "", http.Header{"Authorization": {"Basic azp2"}}},
		{"another scheme and a key", "", http.Header{"Authorization": {"Basic azp2"}, "X-Api-Key": {"k"}}},
		{"empty", "", http.Header{"X-Api-Key": {""}}},
		{"bearer of nothing", "", http.Header{"Authorization": {"Bearer "}}},
	} {
		key, ok := memory.APIKey(&http.Request{Header: c.header})
		require.Equal(t, c.key, key, c.name)
		require.Equal(t, c.key != "", ok, c.name)
	}
}

func TestWithoutAKeyNothingIsServed(t *testing.T) {
	a := newAPI(t)
	for _, endpoint := range append(endpoints, "GET /elsewhere") {
		res := a.ask(endpoint, text(1))
		require.Equal(t, 401, res.status, endpoint)
		require.Equal(t, "Bearer", res.header.Get("WWW-Authenticate"))
		require.Equal(t, "application/problem+json", res.header.Get("Content-Type"))
	}
	require.Equal(t, 400, a.as(strings.Repeat("k", 300), policy.MemoryQuery, "").status)
}
