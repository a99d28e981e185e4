package visit

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line serves one request and returns what is logged of it.
func line(t *testing.T, level slog.Level, h http.HandlerFunc) string {
	t.Helper()
	var out strings.Builder
	now := time.Unix(0, 0)
	clock := func() time.Time { now = now.Add(3 * time.Millisecond); return now }
	logged := Log(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})), clock,
		func(*http.Request) string { return "GET /x" }, func(caller string) string { return caller[:2] }, h)
	func() {
		defer func() { _ = recover() }()
		logged.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x/s3cret?s3cret", nil))
	}()
	return regexp.MustCompile(`^time=\S+ `).ReplaceAllString(out.String(), "")
}

func TestLog(t *testing.T) {
	for _, c := range []struct {
		want string
		h    http.HandlerFunc
	}{
		{`level=INFO msg=request endpoint="GET /x" status=0 replayed=false took=3ms`,
			func(http.ResponseWriter, *http.Request) {}},
		{`level=INFO msg=request endpoint="GET /x" status=200 replayed=false took=3ms`,
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") }},
		{`level=INFO msg=request endpoint="GET /x" status=200 replayed=false took=3ms`,
			func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }},
		{`level=INFO msg=request endpoint="GET /x" status=204 replayed=true took=3ms`,
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("Idempotent-Replayed", "true")
				w.WriteHeader(204)
				w.WriteHeader(500)
			}},
		{`level=INFO msg=request endpoint="GET /x" status=429 replayed=false took=3ms limit=hour`,
			func(w http.ResponseWriter, r *http.Request) { Of(r).Limit = "hour"; w.WriteHeader(429) }},
		{`level=WARN msg=request endpoint="GET /x" status=502 replayed=false took=3ms error=upstream_failed cause="it\nlevel=ERROR"`,
			func(w http.ResponseWriter, r *http.Request) {
				Of(r).Error, Of(r).Cause = "upstream_failed", "it\nlevel=ERROR"
				w.WriteHeader(502)
			}},
		{`level=INFO msg=request endpoint="GET /x" status=0 replayed=false took=3ms`,
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{`level=INFO msg=request endpoint="GET /x" status=200 replayed=false took=3ms aborted=true`,
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "half"); panic(http.ErrAbortHandler) }},
		{`level=INFO msg=request endpoint="GET /x" status=204 replayed=false took=3ms caller=ab`,
			func(w http.ResponseWriter, r *http.Request) { Of(r).Caller = "abcd"; w.WriteHeader(204) }},
	} {
		require.Equal(t, c.want+"\n", line(t, slog.LevelInfo, c.h))
	}
	require.Empty(t, line(t, slog.LevelWarn, func(http.ResponseWriter, *http.Request) {}))
}

func TestOfOutside(t *testing.T) {
	require.Nil(t, Of(httptest.NewRequest("GET", "/", io.Reader(nil))))
}

func TestNames(t *testing.T) {
	name, other := Names(), Names()
	require.Regexp(t, `^[0-9a-f]{8}$`, name("a"))
	require.Equal(t, name("a"), name("a"))
	require.NotEqual(t, name("a"), name("b"))
	require.NotEqual(t, name("a"), other("a"), "of another process")
}
