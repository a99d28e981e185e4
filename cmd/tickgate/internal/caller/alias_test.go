package caller

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// TestAliases: one key here and another one for the upstream.
func TestAliases(t *testing.T) {
	const idempotency = "Idempotency-Key"
	bearer, apikey := Source{"Authorization", true}, Source{header: "X-Api-Key"}
	for _, c := range []struct {
		name    string
		sources []Source
		header  http.Header // beside X-Api-Key: made-up
		status  int
	}{
		{"none", Defaults(), nil, 200},
		{"other fields and options", Defaults(), http.Header{"Connection": {"keep-alive, X-Api"}, "X-Api": {"x"}, "X-Api-Keys": {"x"}}, 200},
		{"an underscore", Defaults(), http.Header{"X_api_key": {"real"}}, 400},
		{"an underscore, and the same key", Defaults(), http.Header{"X-Api_key": {"made-up"}}, 400},
		{"another mark", Defaults(), http.Header{"X.api.key": {"real"}}, 400},
		{"of a source that is not there", []Source{bearer, apikey}, http.Header{"Authorization_": {"Bearer real"}}, 200},
		{"of an option", Defaults(), http.Header{"Connection": {"X-API-KEY"}}, 400},
		{"of one of several", Defaults(), http.Header{"Connection": {"close", "keep-alive,\tx-api-key , te"}}, 400},
		{"of an option with an underscore", Defaults(), http.Header{"Connection": {"X_API_Key"}}, 400},
		{"of the other source", Defaults(), http.Header{"Connection": {"authorization"}}, 400},
		{"of the key for retries", Defaults(), http.Header{"Idempotency_key": {"7"}}, 400},
		{"of the key for retries, as an option", Defaults(), http.Header{"Connection": {"idempotency-key"}}, 400},
		{"both are sources", []Source{apikey, {header: "X_api_key"}}, http.Header{"X_api_key": {"made-up"}}, 200},
		{"both are sources, and differ", []Source{apikey, {header: "X_api_key"}}, http.Header{"X_api_key": {"real"}}, 400},
	} {
		handed := false
		h := visit.Log(slog.New(slog.DiscardHandler), time.Now, func(*http.Request) string { return "x" }, nil,
			Identify(c.sources, []string{idempotency}, nil, httplimit.WriteError,
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { handed = true })))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = c.header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("X-API-Key", "made-up")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, c.name)
		require.Equal(t, c.status == 200, handed, c.name)
		if c.status == 400 {
			require.Contains(t, w.Body.String(), "caller_ambiguous", c.name)
		}
	}
}
