package route

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func set(names ...string) (s policy.Set) {
	for _, n := range names {
		s = append(s, policy.Policy{Endpoint: n, Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}})
	}
	return s
}

func TestPolicy(t *testing.T) {
	table, err := New(set("default", "POST /orders/{id}", "GET /files/", "/v1/", "GET /v1/health", "api.test/", "POST Shop.Test/buy", "GET /users/{id}/"))
	require.NoError(t, err)
	for _, c := range []struct{ method, target, want string }{
		{"POST", "/orders/7", "POST /orders/{id}"},
		{"POST", "/orders/8?x=1", "POST /orders/{id}"},
		{"POST", "/orders/a%2Fb", "POST /orders/{id}"},
		{"POST", "//orders//7", "POST /orders/{id}"}, // as a server sees it that cleans paths
		{"POST", "/x/../orders/7", "POST /orders/{id}"},
		{"GET", "/orders/7", "default"},
		{"POST", "/orders", "default"},
		{"POST", "/orders/7/", "default"},
		{"POST", "/ORDERS/7", "default"},
		{"GET", "/files/a/b/c", "GET /files/"},
		{"HEAD", "/files/a", "GET /files/"},
		{"GET", "/files", "GET /files/"},
		{"GET", "/users/7", "GET /users/{id}/"},
		{"DELETE", "/v1/x", "/v1/"},
		{"BREW", "/v1/x", "/v1/"},
		{"POST", "/v1/health", "/v1/"},
		{"GET", "/v1/health", "GET /v1/health"},
		{"GET", "http://api.test/any", "api.test/"},
		{"GET", "http://api.test:8080/any", "api.test/"},
		{"GET", "http://API.Test/any", "api.test/"},
		{"GET", "http://api.test./any", "api.test/"},
		{"GET", "http://API.TEST.:8080/any", "api.test/"},
		{"POST", "http://shop.test/buy", "POST Shop.Test/buy"},
		{"POST", "http://SHOP.test./buy", "POST Shop.Test/buy"},
		{"GET", "http://api.test.evil/any", "default"},
		{"GET", "/", "default"},
		{"CONNECT", "/v1/x", "default"},
		{"OPTIONS", "*", "default"},
	} {
		require.Equal(t, c.want, table.Policy(httptest.NewRequest(c.method, c.target, nil)), "%s %s", c.method, c.target)
	}
}

// TestPolicyNamesAreFew: whatever is asked for, the names are those of the policies.
func TestPolicyNamesAreFew(t *testing.T) {
	table, err := New(set("default", "GET /a/{x}/", "/b/{x}"))
	require.NoError(t, err)
	for _, target := range []string{"/a/1", "/a/2", "/a/3/", "/b/1", "/b/1/", "/c", "/%00", "/a/%0d%0a"} {
		for _, method := range []string{"GET", "CONNECT", "X"} {
			require.Contains(t, []string{"default", "GET /a/{x}/", "/b/{x}"}, table.Policy(httptest.NewRequest(method, target, nil)))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"GET /x"}, []string{`no policy "default"`}},
		{[]string{"default", "order.new"}, []string{`policy "order.new": no pattern of requests (at offset 0: host/path missing /)`}},
		{[]string{"default", "GET /{x"}, []string{`policy "GET /{x": no pattern of requests`}},
		{[]string{"default", "G@T /x"}, []string{`policy "G@T /x": no pattern of requests`}},
		{[]string{"default", "GET /a/{x}", "GET /a/{y}"}, []string{`policy "GET /a/{y}": matches requests that "GET /a/{x}" matches too`}},
		{[]string{"default", "/a/{x}", "/{y}/b"}, []string{`policy "/{y}/b": matches requests that "/a/{x}" matches too`}},
		{[]string{"default", "api.test/", "API.test./"}, []string{`policy "API.test./": matches requests that "api.test/" matches too`}},
		{[]string{"default", "api.test:8080/"}, []string{`policy "api.test:8080/": no pattern of requests (a host goes without a port)`}},
		{[]string{"a", "b", "GET /{x}", "GET /{y}"}, []string{`policy "a"`, `policy "b"`, `policy "GET /{y}"`, `no policy "default"`}},
	} {
		_, err := New(set(c.names...))
		require.Error(t, err)
		lines := strings.Split(err.Error(), "\n")
		require.Len(t, lines, len(c.want), err.Error())
		for i, want := range c.want {
			require.Contains(t, lines[i], want)
			require.NotContains(t, lines[i], ".go:")
		}
	}
}
