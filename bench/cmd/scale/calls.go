package main

import (
	"fmt"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bench/internal/load"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// paths are what -path takes.
const paths = "gate, deny, handle, batch or shared"

// repeat makes n calls on a path and nothing else, for callgrind: the difference of two runs
// with different n is what the calls took. The clock stands still, since a processor that is
// simulated has none worth reading.
func repeat(path string, keys, n int) error {
	l := load.Allow
	if path == "deny" {
		l = load.Deny
	}
	now := clock.NewManual(clock.Time(1e9))
	g, err := tickgate.New(tickgate.Config{MaxKeys: keys, Clock: now, Policies: policy.Set{{
		Endpoint: endpoint, Limits: []policy.Limit{{Name: "rate", Tokens: l.Tokens, Per: l.Per, Burst: l.Burst}},
	}}})
	if err != nil {
		return err
	}
	defer g.Close()
	if path == "shared" {
		if _, err := g.Share([]tickgate.Budget{{Endpoint: endpoint, Mode: tickgate.CreditMode, Credit: 1 << 28}}); err != nil {
			return err
		}
	}
	for i := range keys {
		g.Allow(load.Key(i), endpoint)
	}
	stream := requests(keys)
	h, err := g.Handle(load.Key(0), endpoint)
	if err != nil {
		return err
	}
	var out [batch]tickgate.Decision
	at := func(i int) *tickgate.Request { return &stream[i%len(stream)] }
	switch path {
	case "gate", "deny", "shared":
		for i := range n {
			g.Allow(at(i).APIKey, endpoint)
		}
	case "handle":
		for range n {
			h.Allow()
		}
	case "batch":
		for i := 0; i < n; i += batch {
			from := i % (len(stream) - batch)
			g.TakeBatch(now.Now(), stream[from:from+batch], out[:])
		}
	default:
		return fmt.Errorf("-path %s: must be %s", path, paths)
	}
	return nil
}
