package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

func TestEndpoints(t *testing.T) {
	for _, c := range []struct{ pattern, method, path, inside, outside string }{
		{"GET /memory/query", "GET", "/memory/query", "GET /memory/query", "GET /memory/query"},
		{"GET /memory/query", "HEAD", "/memory/query", "GET /memory/query", "GET /memory/query"},
		{"/any/{id}", "DELETE", "/any/17", "DELETE /any/{id}", "DELETE /any/{id}"},
		{"/any/{id}", "BREW", "/any/17", "OTHER /any/{id}", "OTHER /any/{id}"},
		{"/any/{id}", "BREW2", "/any/18", "OTHER /any/{id}", "OTHER /any/{id}"},
		{"POST example.com/{rest...}", "POST", "/a/b/c", "POST example.com/{rest...}", "POST example.com/{rest...}"},
		{"/tree/", "GET", "/tree", "", "GET /tree/"},  // redirected
		{"/tree/", "GET", "/x//y", "", "default"},     // cleaned, and nothing there
		{"/tree/", "GET", "/none", "", "default"},     // not found
		{"GET /get", "POST", "/get", "", "default"},   // method not allowed
		{"/tree/", "CONNECT", "/tree", "", "default"}, // redirected to a path
	} {
		mux := http.NewServeMux()
		inside := ""
		mux.HandleFunc(c.pattern, func(_ http.ResponseWriter, r *http.Request) { inside = httplimit.PatternEndpoint(r) })
		r := httptest.NewRequest(c.method, "http://example.com"+c.path, nil)
		require.Equal(t, c.outside, httplimit.MuxEndpoint(mux)(r), "%+v", c)
		mux.ServeHTTP(httptest.NewRecorder(), r)
		require.Equal(t, c.inside, inside, "%+v", c)
	}
}

// Around a whole mux, what it does not have is limited too, as one endpoint.
func TestLimiterAroundAMux(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /a", "2/h"), policyOf(t, "default", "3/h"))
	mux := http.NewServeMux()
	mux.Handle("GET /a", ok)
	l := limiterOf(t, g, func(c *httplimit.LimitConfig) { c.Endpoint = httplimit.MuxEndpoint(mux) })
	s := httptest.NewServer(l.Wrap(mux))
	defer s.Close()
	for _, want := range []int{200, 200, 429} {
		require.Equal(t, want, ask(t, s, "GET", "/a", "", "X-API-Key", "k").status)
	}
	for i, want := range []int{404, 404, 404, 429, 429} {
		require.Equal(t, want, ask(t, s, "GET", "/"+string(rune('p'+i)), "", "X-API-Key", "k").status)
	}
}
