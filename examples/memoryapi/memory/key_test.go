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
		name, key string // nobody: ""
		twice     bool
		header    http.Header
	}{
		{"none", "", false, http.Header{}},
		{"bearer", "k", false, http.Header{"Authorization": {"Bearer k"}}},
		{"bearer in any case", "k", false, http.Header{"Authorization": {"bEARER  k "}}},
		{"x-api-key", "k", false, http.Header{"X-Api-Key": {"k"}}},
		{"both the same", "k", false, http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}}},
		{"both and different", "", true, http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"l"}}},
		{"x-api-key twice", "", true, http.Header{"X-Api-Key": {"k", "k"}}},
		{"bearer twice", "", true, http.Header{"Authorization": {"Bearer k", "Bearer l"}}},
		{"another scheme", "", false, http.Header{"Authorization": {"Basic azp2"}}},
		{"another scheme and a key", "", true, http.Header{"Authorization": {"Basic azp2"}, "X-Api-Key": {"k"}}},
		{"a key and an empty one", "", true, http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {""}}},
		{"empty", "", false, http.Header{"X-Api-Key": {""}}},
		{"bearer of nothing", "", false, http.Header{"Authorization": {"Bearer "}}},
	} {
		key, err := memory.APIKey(&http.Request{Header: c.header})
		require.Equal(t, c.key, key, c.name)
		require.Equal(t, c.twice, err != nil, c.name)
	}
}

func TestTwoKeysAreNotNobody(t *testing.T) {
	a := newAPI(t)
	res := a.ask("GET /memory/query", "", "Authorization", "Bearer alice", "X-API-Key", "bob")
	require.Equal(t, 400, res.status)
	require.Equal(t, "caller_invalid", res.member("error"))
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
