package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/policy"
)

// BenchmarkLimiter is what a limiter adds to a request: the handler behind it does
// nothing, and nothing is sent. What net/http does to send the fields is not in it.
func BenchmarkLimiter(b *testing.B) {
	outcomes := map[string]string{"allow": "1000000000/s burst=1000000000 name=rate", "deny": "1/d name=day"}
	for _, mode := range []httplimit.HeaderMode{httplimit.IETF, httplimit.None} {
		for _, outcome := range []string{"allow", "deny"} {
			b.Run("outcome="+outcome+"/headers="+mode.String(), func(b *testing.B) {
				g, err := tickgate.New(tickgate.Config{Policies: policy.Set{policyOf(b, "GET /query", outcomes[outcome])}})
				if err != nil {
					b.Fatal(err)
				}
				h := limiterOf(b, g, func(c *httplimit.LimitConfig) { c.Headers = mode }).
					Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
				r := httptest.NewRequest("GET", "/query", nil)
				r.Pattern = "GET /query"
				r.Header.Set("X-API-Key", "account-000001")
				w := &blank{h: http.Header{}}
				h.ServeHTTP(w, r) // a denial needs a token that is gone
				b.ReportAllocs()
				for b.Loop() {
					clear(w.h)
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}
