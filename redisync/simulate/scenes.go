package main

import (
	"time"

	"github.com/tickgate/tickgate/redisync/internal/fleet"
)

// limit is what all nodes share.
var limit = fleet.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}

// scenes are what so many nodes play: each load, and an absence of Redis under the greedy one.
func (o *options) scenes(nodes int) []fleet.Scene {
	base := fleet.Scene{Nodes: nodes, Seed: o.seed, Limit: limit, Credit: o.credit}
	if base.Credit == 0 {
		base.Credit = max(1, int64(200/nodes))
	}
	ordinary, after := 3*time.Second, 2*time.Second
	if o.short {
		ordinary, after = time.Second, time.Second
	}
	greedy, poisson, skewed, away := base, base, base, base

	// Long enough for a window in which each node has 50 tokens, and more than one of those.
	greedy.Join = time.Second
	greedy.Length = greedy.Join + max(time.Second, time.Duration(nodes)*5*time.Millisecond) + after

	poisson.Load, poisson.Factor, poisson.Length = fleet.Poisson, .9, ordinary
	skewed.Load, skewed.Factor, skewed.Length = fleet.Skewed, 1.5, ordinary

	away.Away = 500 * time.Millisecond
	away.Back = away.Away + 3*time.Second
	away.Length = away.Back + 1500*time.Millisecond
	return []fleet.Scene{greedy, poisson, skewed, away}
}
