package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// blank is a ResponseWriter that keeps nothing.
type blank struct{ h http.Header }

func (b *blank) Header() http.Header         { return b.h }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}

// What passes costs two allocations, the field RateLimit and the list it is in.
func TestAllocations(t *testing.T) {
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for limit, most := range map[string]float64{"1000000/s name=x": 2, "deny": 12, "unlimited": 0} {
		g, _ := gateOf(t, policyOf(t, "GET /", limit))
		l := limiterOf(t, g).Wrap(nothing)
		r := httptest.NewRequest("GET", "/", nil)
		r.Pattern = "GET /"
		r.Header.Set("X-API-Key", "k")
		w := &blank{http.Header{}}
		got := testing.AllocsPerRun(200, func() {
			clear(w.h)
			l.ServeHTTP(w, r)
		})
		require.LessOrEqual(t, got, most, limit)
	}
}
