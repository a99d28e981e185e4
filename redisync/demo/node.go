package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// node is one process: it asks as often as it can, and prints ten times a second what was admitted.
func node(ctx context.Context, url string, limit policy.Limit, credit int64, mode redisync.Mode) error {
	const endpoint = "order.new"
	gate, err := tickgate.New(tickgate.Config{Policies: policy.Set{
		{Endpoint: endpoint, Credit: credit, Limits: []policy.Limit{limit}},
	}})
	if err != nil {
		return err
	}
	sync, err := redisync.New(ctx, redisync.Config{
		Gate: gate, URL: url, Policies: map[string]redisync.Mode{endpoint: mode},
		Quiet: time.Hour, // nobody else uses this Redis' leases
		Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return err
	}
	h, err := gate.Handle("desk-7", endpoint)
	if err != nil {
		return err
	}
	defer h.Release()
	now := clock.Default()
	admitted, told := 0, now.Now()
	for ctx.Err() == nil {
		t := now.Now()
		if h.AllowAt(t, 1) {
			admitted++
		} else {
			time.Sleep(50 * time.Microsecond) // leave the processor to the others
		}
		if t.Sub(told) >= 100*time.Millisecond {
			fmt.Println(admitted)
			admitted, told = 0, t
		}
	}
	closing, done := context.WithTimeout(context.Background(), 2*time.Second)
	defer done()
	return sync.Close(closing)
}
