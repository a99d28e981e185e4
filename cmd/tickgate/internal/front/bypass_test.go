package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// asCGI is an upstream that reads its key, and whatever else, as a server does that hands
// headers on as variables: HTTP_X_API_KEY.
func asCGI(served *atomic.Int32) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.ToUpper(strings.ReplaceAll(name, "-", "_")) == "X_API_KEY" && values[0] == "real" {
				served.Add(1)
			}
		}
	}
}

// TestKeyUnderTwoNames: one for the limit, and one for the upstream.
func TestKeyUnderTwoNames(t *testing.T) {
	var served atomic.Int32
	g := put(t, asCGI(&served), `[{"endpoint":"default","limits":["1/h"]}]`, nil)
	ask := func(more string) int {
		return raw(t, g, "GET / HTTP/1.1\r\nHost: x\r\n"+more+"\r\n")
	}
	require.Equal(t, 200, ask("X-API-Key: real\r\n"))
	require.Equal(t, 429, ask("X-API-Key: real\r\n"))
	for i := range 3 {
		for _, more := range []string{
			"Connection: X-API-Key\r\nX-API-Key: junk%d\r\nX_API_Key: real\r\n",
			"Connection: close, x-api-key\r\nX-API-Key: junk%d\r\nX_API-Key: real\r\n",
			"X-API-Key: junk%d\r\nX_API_Key: real\r\n",
			"Authorization: Bearer junk%d\r\nX_API_Key: real\r\n",
			"Connection: X-API-Key\r\nX-API-Key: junk%d\r\n",
			"X-API-Key: junk%d\r\nX-API-Key: real\r\n",
			"X-API-Key: real,junk%d\r\n",
		} {
			require.Equal(t, 400, ask(fmt.Sprintf(more, i)), more)
		}
	}
	require.EqualValues(t, 1, served.Load())
}

// TestKeyInATrailer: it comes too late to be counted, so it does not go on.
func TestKeyInATrailer(t *testing.T) {
	var trailers atomic.Int32
	g := put(t, func(_ http.ResponseWriter, r *http.Request) {
		announced := len(r.Trailer)
		_, _ = io.Copy(io.Discard, r.Body)
		trailers.Add(int32(announced + len(r.Trailer)))
	}, open, nil)
	for _, id := range []string{"", "Idempotency-Key: 7\r\n"} {
		for _, announced := range []string{"", "Trailer: X-API-Key, Idempotency-Key\r\n"} {
			require.Equal(t, 200, raw(t, g, "POST / HTTP/1.1\r\nHost: x\r\nX-API-Key: junk\r\n"+id+announced+
				"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-API-Key: real\r\nIdempotency-Key: 8\r\n\r\n"))
		}
	}
	require.Zero(t, trailers.Load())
}

// TestPathOfAnotherPolicy: what the upstream may do is what was counted.
func TestPathOfAnotherPolicy(t *testing.T) {
	var seen []string
	const limits = `[{"endpoint":"POST /orders","limits":["2/h"]},{"endpoint":"POST /files/","limits":["1000/s"]},{"endpoint":"default","limits":["deny"]}]`
	g := put(t, func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.RequestURI) }, limits,
		func(c *Config) { c.Proxy.Upstream.Path = "/base" })
	ask := func(line string) (int, string) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, string(text)
	}
	for _, target := range []string{
		"/files/%2e%2e/orders", "/files/..%2forders", "/files/../orders", "/files/..%5Corders", "/files/..;/orders", "//files/orders",
		"/files/%252e%252e/orders", "/..", "/../admin", "/files/../../admin", "/files/%2e%2e/%2e%2e/admin", "http:/../admin", "a:http://x/orders",
		"*", "/files/..%2f..%2fadmin",
	} {
		status, text := ask("POST " + target)
		require.Equal(t, 400, status, target)
		require.Contains(t, text, `"error":"path_invalid"`, target)
	}
	for _, line := range []string{"post /orders", "GET *"} {
		status, _ := ask(line)
		require.Equal(t, 400, status, line)
	}
	for target, want := range map[string]int{"/files/a/b": 200, "/files/a%20b": 200, "/orders": 200, "/ORDERS": 429, "/orders/": 429, "/orders%2F7": 429, "/x": 429} {
		status, _ := ask("POST " + target)
		require.Equal(t, want, status, target)
	}
	require.ElementsMatch(t, []string{"/base/files/a/b", "/base/files/a%20b", "/base/orders"}, seen)
}

// TestHostOfAPolicy is the same in all spellings.
func TestHostOfAPolicy(t *testing.T) {
	g := put(t, func(http.ResponseWriter, *http.Request) {}, `[{"endpoint":"API.example.com/","limits":["1/h"]},{"endpoint":"default","limits":["unlimited"]}]`, nil)
	statuses := map[int]int{}
	for _, host := range []string{"api.example.com", "API.EXAMPLE.COM", "api.example.com.", "Api.Example.Com.:8080"} {
		statuses[raw(t, g, "GET / HTTP/1.1\r\nHost: "+host+"\r\nX-API-Key: k\r\n\r\n")]++
	}
	require.Equal(t, map[int]int{200: 1, 429: 3}, statuses)
}

// TestWhatTheUpstreamMustNotSay: it is said here.
func TestWhatTheUpstreamMustNotSay(t *testing.T) {
	for mode, want := range map[int][3][]string{ // of X-RateLimit-Limit, RateLimit, and X-RateLimit-Reset
		0: {{"7"}, {`"hour";r=9;t=3240`}, {"7"}},
		1: {{"10"}, {"limit=7, remaining=7"}, {"3240"}},
		2: {{"10"}, {`"hour";r=9;t=3240`}, {"3240"}},
		3: {{"7"}, {"limit=7, remaining=7"}, {"7"}},
	} {
		g := put(t, func(w http.ResponseWriter, _ *http.Request) {
			for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				w.Header().Set(name, "7")
			}
			w.Header().Set("RateLimit", "limit=7, remaining=7")
			w.Header().Set("Idempotent-Replayed", "true")
		}, `[{"endpoint":"default","limits":["10/h name=hour"]}]`, func(c *Config) { c.Headers = httplimit.HeaderMode(mode) })
		h := g.send(t, "POST", "/", "", "Authorization", alice).Header
		require.Equal(t, want, [3][]string{h["X-Ratelimit-Limit"], h["Ratelimit"], h["X-Ratelimit-Reset"]}, mode)
		require.Empty(t, h["Idempotent-Replayed"])
	}
	g := put(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Idempotent-Replayed", "true") }, open,
		func(c *Config) { c.Once = nil })
	require.Equal(t, "true", g.send(t, "POST", "/", "", "Authorization", alice).Header.Get("Idempotent-Replayed"), "then it is the upstream's to say")
}
