package admin

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name that is resolved to this machine, by whoever owns it, is not answered.
func TestHosts(t *testing.T) {
	r := rigOf(t, func(r *rig) { r.AllowHosts = []string{"Gate.example", "2001:db8::7"} }, limited("a", "5/h"))
	for host, status := range map[string]int{
		"localhost": 200, "localhost:9090": 200, "LocalHost.:9090": 200, "127.0.0.1:9090": 200, "127.1.2.3": 200, "[::1]:9090": 200, "[::ffff:127.0.0.1]:1": 200,
		"gate.example": 200, "gate.example:9090": 200, "[2001:db8::7]:9090": 200,
		"10.1.2.3:9090": 200, // the address of the connection, see below
		"10.1.2.4:9090": 403, "evil.example:9090": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example": 403, "x.gate.example": 403,
		"": 403, "0.0.0.0:9090": 403, "[::]:9090": 403, "2130706433": 403, "localhost:9090:evil": 403,
	} {
		w := r.ask("GET", "/healthz", "", func(q *http.Request) {
			q.Host = host
			to := &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 9090}
			*q = *q.WithContext(context.WithValue(q.Context(), http.LocalAddrContextKey, net.Addr(to)))
		})
		require.Equal(t, status, w.Code, host)
		if status == 403 {
			require.Contains(t, w.Body.String(), "host_not_allowed")
		}
	}
}

// Another site's page can neither change something nor make this port work.
func TestOtherSites(t *testing.T) {
	r := rigOf(t, nil, limited("a", "5/h"))
	const block = `{"apikey":"k","who":"evil"}`
	for _, c := range []struct {
		method, path string
		header       map[string]string
		status       int
	}{
		{"POST", "/v1/block", nil, 200}, // curl
		{"POST", "/v1/block", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:9090"}, 200},
		{"POST", "/v1/block", map[string]string{"Origin": "http://localhost:9090"}, 200},
		{"POST", "/v1/block", map[string]string{"Origin": "http://localhost:3000"}, 403},
		{"POST", "/v1/block", map[string]string{"Origin": "null"}, 403},
		{"POST", "/v1/block", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"POST", "/v1/block", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"POST", "/v1/unblock", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"POST", "/debug/pprof/symbol", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"GET", "/healthz", map[string]string{"Sec-Fetch-Site": "none"}, 200},
		{"GET", "/debug/tickgate/data", map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		{"GET", "/debug/tickgate/data", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 403},
		{"GET", "/debug/pprof/profile", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403},
		{"GET", "/debug/pprof/profile", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"GET", "/debug/tickgate", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200}, // a link
		{"GET", "/debug/tickgate", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
	} {
		body := ""
		if c.method == "POST" {
			body = block
		}
		w := r.ask(c.method, c.path, body, func(q *http.Request) {
			for name, value := range c.header {
				q.Header.Set(name, value)
			}
		})
		require.Equal(t, c.status, w.Code, "%+v", c)
		require.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"))
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
		if c.status == 403 {
			require.Contains(t, w.Body.String(), "cross_site")
		}
	}
}
