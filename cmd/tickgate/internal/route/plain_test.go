package route

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked reads a request as a server does.
func asked(t *testing.T, method, target string) *http.Request {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")))
	require.NoError(t, err)
	return r
}

func TestPlain(t *testing.T) {
	table, err := New(set("default", "POST /orders", "POST /files/", "GET /orders/{id}", "GET /orders/{id}/refund", "/admin", "GET /web/{x...}"))
	require.NoError(t, err)
	for _, c := range []struct{ method, target string }{
		{"POST", "/"}, {"POST", "/orders"}, {"POST", "/orders?to=/../x"}, {"POST", "/files/"}, {"POST", "/files/a/b.c/..d/...e"},
		{"POST", "/files/a%20b/%C3%A4/100%25/a;v=1"}, {"POST", "/files/a%2Fb"}, {"GET", "/orders/a%20b"}, {"GET", "/orders/7;v=1"},
		{"GET", "http://host"}, {"GET", "http://host/orders/7"}, {"GET", "/web/a%2Fb%5Cc"}, {"OPTIONS", "/"}, {"BREW", "/x"},
		{"GET", "/%E4"},
	} {
		require.True(t, table.Plain(asked(t, c.method, c.target)), "%s %s", c.method, c.target)
	}
	for _, c := range []struct{ method, target string }{
		// Another path to who cleans.
		{"POST", "/files/../orders"}, {"POST", "/files/./x"}, {"POST", "/files/.."}, {"GET", "/.."}, {"GET", "/../admin"}, {"GET", "/."},
		{"POST", "/files/%2e%2e/orders"}, {"POST", "/files/.%2E/orders"}, {"POST", "/files/%2e/x"},
		{"POST", "/files/..%2fadmin"}, {"POST", "/files/%2e%2e%2Forders"}, {"POST", "/files/x%2f..%2f..%2forders"},
		{"POST", "/files/..%5corders"}, {"POST", "/files/..\\orders"}, {"POST", "/files\\..\\orders"},
		{"POST", "/files/%252e%252e/orders"}, {"POST", "/files/%25252e%25252e/orders"}, {"POST", "/files/%252e%252e%252f%25"},
		{"POST", "/files/..;/orders"}, {"POST", "/files/..;x=1/orders"}, {"POST", "/files/..%3bx/orders"}, {"POST", "/files/..%20/orders"},
		// Another host, or another path, to who does not.
		{"POST", "//files/orders"}, {"POST", "/files//orders"}, {"GET", "//"}, {"POST", "///orders"},
		// Another policy to who decodes, or takes parameters off.
		{"GET", "/orders/7%2Frefund"}, {"GET", "/orders/7%5Crefund"}, {"GET", "/orders/7%252Frefund"}, {"POST", "/orders;x=1"},
		{"GET", "/x/..;/admin"}, {"GET", "/admin;"}, {"GET", "/%2561dmin"}, {"GET", "/;/admin"}, {"GET", "/%2Fadmin"},
		// What ends a path early.
		{"GET", "/admin%00"}, {"GET", "/admin%0a"}, {"GET", "/admin%250a"}, {"GET", "/admin%7f"}, {"POST", "/files/a;%00"},
		// No path at all.
		{"GET", "*"}, {"OPTIONS", "*"}, {"GET", "http:orders"}, {"POST", "a:http://x/orders"}, {"GET", "x:y"},
		// A method to who writes it large.
		{"post", "/orders"}, {"Post", "/orders"},
		// What keeps a reader busy.
		{"GET", "/%" + strings.Repeat("25", 4000) + "41"},
	} {
		require.False(t, table.Plain(asked(t, c.method, c.target)), "%s %s", c.method, c.target)
	}
}

// FuzzPlain: nothing that is plain has a segment that a server takes away.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"/", "/files/a", "/files/%2e%2e/orders", "/a;b/%25%32%65", "//x", "/files\\a", "/%"} {
		f.Add(seed)
	}
	table, err := New(set("default", "POST /orders", "POST /files/", "/admin"))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil || !table.Plain(r) {
			return
		}
		for _, part := range strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/") {
			if part == "." || part == ".." {
				t.Fatalf("%q is plain", target)
			}
		}
		if strings.Contains(r.URL.EscapedPath(), "//") {
			t.Fatalf("%q is plain", target)
		}
	})
}
