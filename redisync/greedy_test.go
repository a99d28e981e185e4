//go:build linux

package redisync_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// greedy has nodes ask for one key for a while, each until it is denied, and returns
// what they were granted, and what each counted.
func greedy(t *testing.T, url string, nodes int, set policy.Set, cfg redisync.Config, d time.Duration) ([]admitted.Event, []redisync.Stats) {
	var (
		mu     sync.Mutex
		all    []admitted.Event
		wg     sync.WaitGroup
		begin  = make(chan struct{})
		closes []*redisync.Sync
		base   = time.Now()
	)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range nodes {
		gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: clock.Runtime()})
		require.NoError(t, err)
		own := cfg
		own.Gate, own.URL, own.Clock, own.Log = gate, url, clock.Runtime(), slog.New(slog.DiscardHandler)
		own.MaxAge, own.Nodes = time.Second, nodes
		s, err := redisync.New(t.Context(), own)
		require.NoError(t, err)
		closes = append(closes, s)
		h, err := gate.Handle("k", "e")
		require.NoError(t, err)
		wg.Go(func() {
			events := make([]admitted.Event, 0, 1<<16)
			<-begin
			for ctx.Err() == nil {
				before := time.Since(base)
				ok := h.Allow()
				after := time.Since(base)
				if ok {
					events = append(events, admitted.Event{Before: int64(before), After: int64(after), N: 1})
					continue
				}
				time.Sleep(200 * time.Microsecond)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, events...)
		})
	}
	close(begin)
	time.Sleep(d)
	cancel()
	wg.Wait()
	var stats []redisync.Stats
	for _, s := range closes {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		require.NoError(t, s.Close(ctx))
		cancel()
		stats = append(stats, s.Stats())
	}
	slices.SortFunc(all, func(a, b admitted.Event) int { return int(a.Before - b.Before) })
	return all, stats
}

// budget is one limit of 10,000 tokens a second.
func budget(credit, capacity int64) policy.Set {
	return policy.Set{{Endpoint: "e", Credit: credit, Limits: []policy.Limit{{Name: "budget", Tokens: 10_000, Per: time.Second, Burst: capacity}}}}
}

// span is the time from the first event to the last.
func span(events []admitted.Event) time.Duration {
	return time.Duration(events[len(events)-1].After - events[0].Before)
}

// whole requires that nearly all of the budget was used, if the machine let it be: where
// calls took long, or 50 ms and were given up, processes were not run for long either.
func whole(t *testing.T, ratio float64, stats []redisync.Stats) {
	for _, s := range stats {
		if s.Unknown > 0 || s.Sync.P999 > 15*time.Millisecond || s.Lag.P999 > 30*time.Millisecond {
			t.Logf("the machine was busy with other things: a call took %v", s.Sync.P999)
			require.Greater(t, ratio, .5)
			return
		}
	}
	require.GreaterOrEqual(t, ratio, .97)
}

func TestGreedyNodesOnCreditKeepTheBound(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	limit := admitted.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}
	events, stats := greedy(t, srv.URL(), 8, budget(16, limit.Capacity), redisync.Config{}, 2*time.Second)
	o := admitted.Check(events, limit)
	ratio := float64(o.Admitted) / limit.Budget(span(events))
	t.Logf("O %.3f to %.3f from %v to %v of %v, admitted %.3f of the budget; %+v", o.Low, o.High, time.Duration(o.From-events[0].Before), time.Duration(o.To-events[0].Before), span(events), ratio, stats[0])
	require.LessOrEqual(t, o.Low, float64(7*16))
	require.Positive(t, o.High, "or the bound means nothing")
	whole(t, ratio, stats)
	require.Equal(t, int64(112), stats[0].Overshoot)
	charged := uint64(0)
	for _, s := range stats {
		charged += s.Charged
		require.Zero(t, s.Forgiven)
		require.Zero(t, s.Granted)
	}
	require.EqualValues(t, o.Admitted, charged, "every token was told")
}

func TestTwoNodesUseTheWholeBudget(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	limit := admitted.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}
	events, stats := greedy(t, srv.URL(), 2, budget(64, limit.Capacity), redisync.Config{}, 2*time.Second)
	o := admitted.Check(events, limit)
	ratio := float64(o.Admitted) / limit.Budget(span(events))
	t.Logf("O %.1f to %.1f, admitted %.3f of the budget", o.Low, o.High, ratio)
	require.LessOrEqual(t, o.Low, float64(64))
	whole(t, ratio, stats)
}

func TestGreedyNodesOnLeaseNeverExceed(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	limit := admitted.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}
	events, stats := greedy(t, srv.URL(), 8, budget(0, limit.Capacity), redisync.Config{
		Policies: map[string]redisync.Mode{"e": redisync.Lease}, Quiet: time.Hour,
	}, 2*time.Second)
	o := admitted.Check(events, limit)
	ratio := float64(o.Admitted) / limit.Budget(span(events))
	t.Logf("O %.3f to %.3f from %v to %v of %v, admitted %.3f of the budget; %+v", o.Low, o.High, time.Duration(o.From-events[0].Before), time.Duration(o.To-events[0].Before), span(events), ratio, stats[0])
	require.Zero(t, o.Low)
	whole(t, ratio, stats)
}
