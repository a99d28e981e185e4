package service

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/changes"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/denials"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/history"
)

// Config says what a core is made of.
type Config struct {
	Layers  *pgconfig.Stack // of policies
	MaxKeys int             // as tickgate.Config has it
	Redis   *Redis          // how budgets are shared; nil: not at all

	Name     string           // of the gate, for people; "": main
	ShowKeys bool             // as denials.Config has it
	Now      func() time.Time // for people
	Log      *slog.Logger
}

// Core is one gate and what belongs to it. Make one with [New] or [Around]. Its methods
// may be called by any number of goroutines at once.
type Core struct {
	Gate    *tickgate.Gate
	Denials *denials.Log
	Changes *changes.Log
	History *history.History
	Ready   *admin.Ready
	Sampler *promlimit.Sampler // of Take

	// Follow, if not nil, is told of each set that came into force. Set it before Run.
	Follow func(policy.Set)

	cfg    Config
	sync   *redisync.Sync                  // nil: not shared
	strict map[string]bool                 // policies that Redis is asked for; not changed any more
	own    atomic.Pointer[map[string]bool] // endpoints with a policy of their own; nil: not shared
	orders []*Reloadable

	beside  []admin.Beside // gates of the process that are not Gate
	version func() string  // of the policies, where there are no layers; nil: they have none
}

// main is the name of a core's gate unless another one is given.
const main = "main"

// New reads the policies and makes the gate; with Redis it joins those that share its
// budgets. Whoever has a core must Close it.
func New(ctx context.Context, cfg Config) (*Core, error) {
	set, err := cfg.Layers.Load(ctx)
	if err != nil {
		return nil, err
	}
	c, err := Around(cfg, func(audit func(tickgate.Change)) (*tickgate.Gate, error) {
		return tickgate.New(tickgate.Config{Policies: set, MaxKeys: cfg.MaxKeys, Audit: audit})
	})
	if err != nil {
		return nil, err
	}
	if cfg.Redis != nil {
		if err := c.share(ctx, set); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Around makes a core of a gate that somebody else makes, with the audit hook that it is
// given, and whose policies are the maker's. Layers and Redis of cfg do not count.
func Around(cfg Config, make func(audit func(tickgate.Change)) (*tickgate.Gate, error)) (*Core, error) {
	if cfg.Name == "" {
		cfg.Name = main
	}
	c := &Core{cfg: cfg, Ready: &admin.Ready{}}
	var denialsErr, samplerErr error
	c.Denials, denialsErr = denials.New(denials.Config{ShowKeys: cfg.ShowKeys})
	c.Sampler, samplerErr = promlimit.NewSampler(promlimit.SamplerConfig{})
	if err := errors.Join(denialsErr, samplerErr); err != nil {
		return nil, err
	}
	c.Changes = changes.New(cfg.Log, c.Denials.Name)
	var err error
	if c.Gate, err = make(c.audit); err != nil {
		return nil, err
	}
	c.History = history.New(c.stats, cfg.Now)
	return c, nil
}

// audit is told of every change of the gate.
func (c *Core) audit(change tickgate.Change) {
	c.Changes.Of(c.cfg.Name)(change)
	if change.What != tickgate.Applied || change.Err != nil {
		return
	}
	if c.own.Load() != nil {
		c.named(change.New)
		c.warnCostly(change.Old, change.New)
	}
	if c.Follow != nil {
		c.Follow(change.New)
	}
}

// Take decides a request: by the gate, or by Redis where the policy is strict. One of
// some is timed.
func (c *Core) Take(apikey, endpoint string, n int64) tickgate.Decision {
	if c.strict != nil && c.Strict(endpoint) {
		return c.Ask(apikey, endpoint, n)
	}
	return c.Sampler.Take(c.Gate, apikey, endpoint, n)
}

// Denied takes down a denial by the core's gate. It waits for nothing that is being read.
func (c *Core) Denied(apikey, endpoint string, n int64, d *tickgate.Decision) {
	c.DeniedBy(c.cfg.Name, c.Version(), apikey, endpoint, n, d)
}

// DeniedBy takes down a denial by a gate, by its name, and the version of its policies.
func (c *Core) DeniedBy(gate, version, apikey, endpoint string, n int64, d *tickgate.Decision) {
	c.Denials.Add(&denials.Denial{
		At: c.cfg.Now(), Gate: gate, APIKey: apikey, Endpoint: endpoint, Limit: d.Limit, Reason: d.Reason,
		Cost: n, RetryAfter: d.RetryAfter, Version: version,
	})
}

// Version returns that of the policies in force.
func (c *Core) Version() string {
	switch {
	case c.cfg.Layers != nil:
		return c.cfg.Layers.Version()
	case c.version != nil:
		return c.version()
	}
	return ""
}

// Run follows the policies and takes down how much is decided, until ctx is done.
func (c *Core) Run(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.History.Run(ctx)
	}()
	if c.cfg.Layers != nil {
		c.cfg.Layers.Run(ctx, c.Gate)
	}
	<-ended
}

// Close tells Redis what was used, and leaves. Stop serving first.
func (c *Core) Close(ctx context.Context) error {
	if c.sync == nil {
		return nil
	}
	return c.sync.Close(ctx)
}
