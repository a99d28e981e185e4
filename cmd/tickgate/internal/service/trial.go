package service

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// Check says what keeps a set from being shared as r says, without asking Redis.
func (r *Redis) Check(set policy.Set) error {
	modes, shared := r.modes(set)
	if r.none(shared) {
		return nil
	}
	gate, err := tickgate.New(tickgate.Config{Policies: set, MaxKeys: 1})
	if err != nil {
		return err
	}
	defer gate.Close()
	nobody := &nobody{}
	cfg := r.config(gate, modes, slog.New(slog.DiscardHandler))
	cfg.URL, cfg.Transport = "", nobody
	ctx, done := context.WithCancel(context.Background())
	done()
	if _, err = redisync.New(ctx, cfg); err != nil && !nobody.asked {
		return fmt.Errorf("redis: %w", err) // found before anything was asked
	}
	return nil
}

// Try asks whether Redis will do, and joins nobody.
func (r *Redis) Try(ctx context.Context) error {
	client, err := redisync.Dial(ctx, r.URL)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	defer client.Close()
	if err := redisync.Probe(ctx, client, r.Prefix); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// nobody is a Redis that refuses everything.
type nobody struct{ asked bool }

// Sync is of redisync.Transport.
func (n *nobody) Sync(_ context.Context, _ []redisync.Call, replies []redisync.Reply) {
	n.asked = true
	for i := range replies {
		replies[i].Err = redisync.ErrRefused
	}
}

// Call is of redisync.Transport.
func (n *nobody) Call(context.Context, redisync.Call) redisync.Reply {
	n.asked = true
	return redisync.Reply{Err: redisync.ErrRefused}
}

// Close is of redisync.Transport.
func (n *nobody) Close() {}

// Shown says how each policy of a set is shared, for people: " mode=credit", and of those
// whose credit is below their capacity also what never passes; nothing of those that are
// not shared.
func (r *Redis) Shown(set policy.Set) map[string]string {
	modes, _ := r.modes(set)
	out := map[string]string{}
	for endpoint, m := range modes {
		if m != redisync.Local {
			out[endpoint] = " mode=" + m.String()
		}
	}
	for _, one := range r.costly(set) {
		out[one.endpoint] += one.text()
	}
	return out
}
