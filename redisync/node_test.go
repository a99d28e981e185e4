package redisync

import (
	"context"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// node is a process that shares budgets: a gate and its Sync.
type node struct {
	*Sync
	gate *tickgate.Gate
}

// nodeOf starts a node with policies of one limit each, by "endpoint: limit", and a
// credit. change may be nil.
func nodeOf(t testing.TB, url string, set policy.Set, change func(*Config)) *node {
	gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: clock.Runtime()})
	require.NoError(t, err)
	cfg := Config{
		Gate: gate, URL: url, Clock: clock.Runtime(), MaxAge: time.Second, Log: slog.New(slog.DiscardHandler),
		Lookup: func(string) (string, bool) { return "", false },
	}
	if change != nil {
		change(&cfg)
	}
	s, err := New(t.Context(), cfg)
	require.NoError(t, err)
	n := &node{Sync: s, gate: gate}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = s.Close(ctx)
	})
	return n
}

// on is the set of one policy, "e".
func on(t testing.TB, credit int64, limits ...string) policy.Set {
	p := policy.Policy{Endpoint: "e", Credit: credit}
	for _, text := range limits {
		l, err := policy.ParseLimit(text)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	return policy.Set{p}
}

func as(m Mode) func(*Config) {
	return func(c *Config) { c.Policies = map[string]Mode{"e": m} }
}

// level reads the level of a budget in Redis, in whole tokens, as of its last call.
func level(t testing.TB, srv *redistest.Server, key string) int64 {
	n, err := strconv.ParseInt(srv.Text("HGET", key, "l"), 10, 64)
	require.NoError(t, err)
	return n / Unit
}

// leave closes the node, which must succeed, and returns what it counted.
func (n *node) leave(t testing.TB) Stats {
	require.NoError(t, n.Close(t.Context()))
	return n.Stats()
}

const (
	policyMax  = policy.MaxPer
	tenSeconds = 10 * time.Second
	tick       = 2 * time.Millisecond
)
