package httplimit_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// Two requests an hour for each caller, and each job once.
func Example() {
	now := clock.NewManual(0) // leave the clocks out to have the machine's
	limit, err := policy.ParseLimit("2/h name=hour")
	if err != nil {
		log.Fatal(err)
	}
	gate, err := tickgate.New(tickgate.Config{
		Policies: policy.Set{{Endpoint: "POST /jobs", Limits: []policy.Limit{limit}}},
		Clock:    now,
	})
	if err != nil {
		log.Fatal(err)
	}
	store, err := idem.NewStore(idem.Config{Clock: now})
	if err != nil {
		log.Fatal(err)
	}
	caller := func(r *http.Request) (string, error) { // that was authenticated before
		name, _, _ := r.BasicAuth()
		return name, nil // "" is nobody
	}
	limiter, err := httplimit.NewLimiter(httplimit.LimitConfig{
		Gate: gate, Key: caller, OnMissing: httplimit.FailClosed,
	})
	if err != nil {
		log.Fatal(err)
	}
	once, err := httplimit.NewIdempotency(httplimit.IdempotencyConfig{Store: store, Scope: caller})
	if err != nil {
		log.Fatal(err)
	}
	jobs := 0
	mux := http.NewServeMux()
	mux.Handle("POST /jobs", limiter.Wrap(once.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		jobs++
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, "job %d", jobs)
	}))))
	server := httptest.NewServer(mux)
	defer server.Close()

	for range 3 {
		r, err := http.NewRequest("POST", server.URL+"/jobs", strings.NewReader("data"))
		if err != nil {
			log.Fatal(err)
		}
		r.SetBasicAuth("alice", "")
		r.Header.Set("Idempotency-Key", `"8e03978e"`)
		res, err := server.Client().Do(r)
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			log.Fatal(err)
		}
		_ = res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("RateLimit"), "replayed:", res.Header.Get("Idempotent-Replayed") == "true")
		if retry := res.Header.Get("Retry-After"); retry != "" {
			fmt.Println("again in", retry, "s")
			continue
		}
		fmt.Println(string(body))
	}
	// Output:
	// 202 "hour";r=1;t=1800 replayed: false
	// job 1
	// 202 "hour";r=0;t=1800 replayed: true
	// job 1
	// 429 "hour";r=0;t=1800 replayed: false
	// again in 1800 s
}
