//go:build linux

package faults

import (
	"context"
	"fmt"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// prefix is that of the keys in Redis.
const prefix = "tickgate"

// Stats are what a node's reconciler counts.
type Stats = redisync.Stats

// join connects a gate.
func join(ctx context.Context, s Setup, gate *tickgate.Gate) (reconciler, error) {
	cfg := redisync.Config{
		Gate: gate, Clock: clock.Runtime(), URL: s.URL, Prefix: prefix, Policies: map[string]redisync.Mode{Endpoint: modes[s.Mode]},
		Interval: s.Interval, MaxAge: s.MaxAge, Deadline: s.Deadline, Nodes: s.Nodes,
		Log: quiet,
	}
	if s.First {
		cfg.Quiet = policy.MaxPer // an empty Redis need not learn for a term what is known
	}
	switch s.Away {
	case "", "share":
		cfg.Away = redisync.Share
	case "open":
		cfg.Away = redisync.Open
	case "closed":
		cfg.Away = redisync.Closed
	default:
		return nil, fmt.Errorf("no rule is named %q: it is share, open or closed", s.Away)
	}
	sync, err := redisync.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return sync, nil
}

var modes = map[Mode]redisync.Mode{Credit: redisync.Credit, Lease: redisync.Lease, Strict: redisync.Strict}
