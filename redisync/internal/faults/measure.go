//go:build linux

package faults

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// Measure is what is measured and not asserted: times, rates and sizes depend on the
// machine and on what else it does.
type Measure struct {
	Name, What string
	Run        func(t redistest.T, length time.Duration) []Figure
}

// Figure is one result. Met is empty where nothing is wanted.
type Figure struct {
	Name, Value, Wanted, Met string
}

// Measures returns all of them.
func Measures() []Measure {
	return []Measure{
		{"decisions", "Handle.AllowAt with Redis stopped beside the same with Redis well", measureDecisions},
		{"strict", "a strict decision that asks Redis, one caller, beside a bare PING", measureStrict},
		{"throughput", "key-syncs a second of one node on one Redis", measureThroughput},
		{"memory", "memory in Redis for a key", measureMemory},
		{"cold", "100 hot keys and many cold ones beside strict decisions", measureCold},
	}
}

func figure(name string, value any, wanted string, met bool) Figure {
	f := Figure{Name: name, Value: fmt.Sprint(value), Wanted: wanted, Met: "yes"}
	if !met {
		f.Met = "no"
	}
	return f
}

func plain(name string, value any) Figure { return Figure{Name: name, Value: fmt.Sprint(value)} }

// quantile sorts times and returns the one that a part q does not exceed.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(len(times)-1, int(q*float64(len(times))))]
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// single is one node of a measure.
type single struct {
	t    redistest.T
	gate *tickgate.Gate
	sync *redisync.Sync
}

// startSingle makes a gate with some policies and connects it.
func startSingle(t redistest.T, url string, maxKeys int, set policy.Set, cfg redisync.Config) *single {
	t.Helper()
	gate, err := newGate(set, maxKeys)
	if err != nil {
		t.Fatalf("no gate: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	cfg.Gate, cfg.Clock, cfg.URL, cfg.Prefix = gate, clock.Runtime(), url, prefix
	cfg.Log = quiet
	sync, err := redisync.New(ctx, cfg)
	if err != nil {
		t.Fatalf("no reconciler: %v", err)
	}
	return &single{t: t, gate: gate, sync: sync}
}

// quiet is a log that nobody reads: what is done to Redis here fills pages.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func newGate(set policy.Set, maxKeys int) (*tickgate.Gate, error) {
	return tickgate.New(tickgate.Config{Policies: set, MaxKeys: maxKeys, Clock: clock.Runtime()})
}

func (s *single) close() {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	if err := s.sync.Close(ctx); err != nil {
		s.t.Logf("the reconciler does not close: %v", err)
	}
}

// shared is a set of one policy.
func shared(endpoint string, credit int64, l admitted.Limit) policy.Policy {
	return policy.Policy{
		Endpoint: endpoint, Credit: credit,
		Limits: []policy.Limit{{Name: LimitName, Tokens: l.Tokens, Per: l.Per, Burst: l.Capacity}},
	}
}
