package profile

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLabels(t *testing.T) {
	labels := func() string {
		var out bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&out, 1))
		return out.String()
	}
	seen := ""
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen = labels() })
	h := Wrap("proxy", func(r *http.Request) string { return r.Method }, next)
	for _, method := range []string{"GET", "POST", "GET"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/", nil))
		require.Contains(t, seen, `"path":"proxy"`)
		require.Contains(t, seen, `"policy":"`+method+`"`)
	}
	require.NotContains(t, labels(), `"path":"proxy"`, "a connection's goroutine goes on to the next request")
	Wrap("check", nil, next).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	require.Contains(t, seen, `{"path":"check"}`)
}
