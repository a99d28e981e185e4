package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Policies change under requests: each is told of limits that were in force.
func TestRequestsDuringApply(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "GET /", "1000000/s name=a"))
	h := limiterOf(t, g).Wrap(ok)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for !stop.Load() {
				r := httptest.NewRequest("GET", "/", nil)
				r.Pattern = "GET /"
				r.Header.Set("X-API-Key", fmt.Sprint(i))
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				list, err := readSF(w.Header()["Ratelimit-Policy"])
				if w.Code != 200 || err != nil || len(list) != 1 || list[0].name != "a" && list[0].name != "b" {
					t.Errorf("%d %v", w.Code, w.Header())
					return
				}
			}
		})
	}
	for i := range 200 {
		name := string(rune('a' + i%2))
		require.NoError(t, g.Apply(policy.Set{policyOf(t, "GET /", "1000000/s name="+name)}))
	}
	stop.Store(true)
	wg.Wait()
}

// Many at once for the same keys, with handlers that panic: what was done is never done
// again, and every key ends with one result.
func TestKeysUnderFire(t *testing.T) {
	const keys, callers = 200, 16
	store := storeOf(t, clock.NewManual(0))
	var tried, done [keys]atomic.Int64
	h := onceOf(t, store).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var i int
		_, _ = fmt.Sscan(r.Header.Get("Number"), &i)
		if n := tried[i].Add(1); n <= int64(i%3) {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "job ", done[i].Add(1))
	}))
	post := func(i int) (w *httptest.ResponseRecorder) {
		defer func() {
			if recover() != nil {
				w.Code = http.StatusBadGateway
			}
		}()
		r := httptest.NewRequest("POST", "/", strings.NewReader("x"))
		r.Pattern = "POST /"
		r.Header = http.Header{"X-Api-Key": {"a"}, "Idempotency-Key": {fmt.Sprint("key", i)}, "Number": {fmt.Sprint(i)}}
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range keys {
				i = (i + c) % keys
				for {
					w := post(i)
					if w.Code == 200 {
						if w.Body.String() != "job 1" {
							t.Errorf("key %d: %s", i, w.Body)
						}
						break
					}
					if w.Code != http.StatusBadGateway && w.Code != http.StatusConflict {
						t.Errorf("key %d: %d", i, w.Code)
						break
					}
				}
			}
		})
	}
	wg.Wait()
	for i := range keys {
		require.Equal(t, int64(1), done[i].Load())
	}
	require.Equal(t, keys, store.Stats().Records)
}

var _ httplimit.Store = (*faulty)(nil)
