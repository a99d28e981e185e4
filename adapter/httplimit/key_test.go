package httplimit_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// What contradicts itself is not let pass as if it named nobody.
func TestKeyFuncThatFails(t *testing.T) {
	own := &httplimit.Error{Status: 503, Code: "directory_down", Detail: "Try again.", Err: errors.New("no connection")}
	for _, c := range []struct {
		name         string
		key          string
		err          error
		closed, open int
		code         string // where the two are the same
	}{
		{"a key", "alice", nil, 200, 200, ""},
		{"nobody", "", nil, 401, 200, ""},
		{"nobody, by the error", "", httplimit.ErrKeyMissing, 401, 200, ""},
		{"nobody, by the error around it", "alice", fmt.Errorf("no cookie: %w", httplimit.ErrKeyMissing), 401, 200, ""},
		{"two keys", "", errors.New("two keys"), 400, 400, "caller_invalid"},
		{"an error beside a key", "alice", errors.New("two keys"), 400, 400, "caller_invalid"},
		{"an answer of its own", "", own, 503, 503, "directory_down"},
		{"and around it", "", fmt.Errorf("look-up: %w", own), 503, 503, "directory_down"},
		{"a control character", "a\nb", nil, 400, 400, "caller_invalid"},
	} {
		key := func(*http.Request) (string, error) { return c.key, c.err }
		g, clk := gateOf(t, policyOf(t, "default", "100/h"))
		for missing, want := range map[httplimit.MissingKey]int{httplimit.FailClosed: c.closed, httplimit.FailOpen: c.open} {
			var failed error
			s := serve(t, "/", limiterOf(t, g, func(l *httplimit.LimitConfig) {
				l.Key, l.OnMissing = key, missing
				l.Error = func(w http.ResponseWriter, r *http.Request, e *httplimit.Error) {
					failed = e
					httplimit.WriteError(w, r, e)
				}
			}).Wrap(ok))
			a := ask(t, s, "GET", "/", "")
			require.Equal(t, want, a.status, c.name)
			if c.code != "" {
				require.Equal(t, c.code, a.code(t), c.name)
			}
			if want == 400 {
				require.ErrorIs(t, failed, httplimit.ErrKeyInvalid, c.name)
				if c.err != nil {
					require.ErrorIs(t, failed, c.err, c.name)
				}
			}
		}
		once := serve(t, "/", onceOf(t, storeOf(t, clk), func(o *httplimit.IdempotencyConfig) { o.Scope = key }).Wrap(ok))
		require.Equal(t, c.closed, ask(t, once, "POST", "/", "", "Idempotency-Key", "k").status, c.name)
	}
}

func TestTwoKeysUnderFailOpen(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "default", "1/h"))
	s := serve(t, "/", limiterOf(t, g, func(c *httplimit.LimitConfig) { c.OnMissing = httplimit.FailOpen }).Wrap(ok))
	require.Equal(t, 400, ask(t, s, "GET", "/", "", "X-API-Key", "a", "X-API-Key", "b").status)
	require.Equal(t, 200, ask(t, s, "GET", "/", "").status)
}
