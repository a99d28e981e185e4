package redisync_test

import (
	"context"
	"log"
	"net/http"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

func Example() {
	limit, err := policy.ParseLimit("1000/s burst=2000 name=orders")
	if err != nil {
		log.Fatal(err)
	}
	gate, err := tickgate.New(tickgate.Config{Policies: policy.Set{
		{Endpoint: "order.new", Credit: 16, Limits: []policy.Limit{limit}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	sync, err := redisync.New(ctx, redisync.Config{Gate: gate, URL: "redis://127.0.0.1:6379"})
	if err != nil {
		log.Fatal(err) // says what to do
	}
	defer sync.Close(ctx)

	http.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) {
		if !gate.Allow(r.Header.Get("X-Api-Key"), "order.new") { // as without redisync
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
}

func ExampleSync_Take() {
	var sync *redisync.Sync // of a gate whose policy "withdraw" is redisync.Strict
	d, err := sync.Take(context.Background(), "apikey", "withdraw", 1)
	switch {
	case d.Allowed:
	case err != nil: // Redis did not decide; the call is denied
	default: // ask again after d.RetryAfter
	}
}
