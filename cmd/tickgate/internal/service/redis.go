package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// Redis says how budgets are shared, as redisync.Config has it.
type Redis struct {
	URL      string
	Prefix   string
	Modes    map[string]redisync.Mode // by endpoint; those that are not in it are Credit if they have a credit
	Away     redisync.Rule
	Nodes    int
	Deadline time.Duration
	Quiet    time.Duration
	Lookup   func(string) (string, bool)

	// Optional lets nothing be shared: there is something else that Redis is for.
	Optional bool

	started atomic.Pointer[map[string]redisync.Mode] // how policies are shared since the start; nil before
}

// modes says how each policy of a set is shared, and whether any is.
func (r *Redis) modes(set policy.Set) (modes map[string]redisync.Mode, shared bool) {
	if modes = maps.Clone(r.Modes); modes == nil {
		modes = map[string]redisync.Mode{}
	}
	for _, p := range set {
		if _, given := modes[p.Endpoint]; !given && p.Credit > 0 {
			modes[p.Endpoint] = redisync.Credit
		}
	}
	for _, m := range modes {
		shared = shared || m != redisync.Local
	}
	return modes, shared
}

// config is what to share a gate by.
func (r *Redis) config(gate *tickgate.Gate, modes map[string]redisync.Mode, log *slog.Logger) redisync.Config {
	return redisync.Config{
		Gate: gate, URL: r.URL, Prefix: r.Prefix, Policies: modes, Away: r.Away, Nodes: r.Nodes,
		Deadline: r.Deadline, Quiet: r.Quiet, Log: log, Lookup: r.Lookup,
	}
}

// none reports whether it is as meant that nothing is shared.
func (r *Redis) none(shared bool) bool { return !shared && r.Optional && len(r.Modes) == 0 }

// share joins those that share budgets.
func (c *Core) share(ctx context.Context, set policy.Set) error {
	r := c.cfg.Redis
	modes, shared := r.modes(set)
	r.started.Store(&modes)
	if r.none(shared) {
		c.cfg.Log.Info("no budget is shared through Redis: no policy has a credit or a --redis-mode", "server", Server(r.URL))
		return nil
	}
	var err error
	if c.sync, err = redisync.New(ctx, r.config(c.Gate, modes, c.cfg.Log)); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	c.strict = map[string]bool{}
	c.named(set)
	var names []string
	for _, endpoint := range slices.Sorted(maps.Keys(modes)) {
		if m := modes[endpoint]; m != redisync.Local {
			names = append(names, endpoint+"="+m.String())
			c.strict[endpoint] = m == redisync.Strict
		}
	}
	c.warnCostly(nil, set)
	c.cfg.Log.Info("budgets are shared through Redis", "server", Server(r.URL), "policies", names)
	return nil
}

// Server returns of the URL of a server what may be shown: no user, no password and no
// options.
func Server(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 { // a password may hold one
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}

// named notes which endpoints have a policy of their own.
func (c *Core) named(set policy.Set) {
	own := make(map[string]bool, len(set))
	for _, p := range set {
		own[p.Endpoint] = true
	}
	c.own.Store(&own)
}

// Strict reports whether Redis is asked for an endpoint: for its own policy, or for the
// one of those that have none.
func (c *Core) Strict(endpoint string) bool {
	if c.strict[endpoint] {
		return true
	}
	own := c.own.Load()
	return own != nil && c.strict[policy.DefaultEndpoint] && !(*own)[endpoint]
}

// elsewhere are the policies that Redis is asked for, sorted.
func (c *Core) elsewhere() (all []string) {
	for _, endpoint := range slices.Sorted(maps.Keys(c.strict)) {
		if c.strict[endpoint] {
			all = append(all, endpoint)
		}
	}
	return all
}

// Shared reports whether anything is asked of Redis.
func (c *Core) Shared() bool { return c.sync != nil }

// Ask decides a request that the gate answers with Unsettled: by Redis, where the
// policy is strict. Where Redis cannot, it is denied.
func (c *Core) Ask(apikey, endpoint string, n int64) tickgate.Decision {
	d, _ := c.AskWithin(context.Background(), apikey, endpoint, n) // the denial says it all
	return d
}

// AskWithin is Ask for a request whose client may go away, and tells why nobody could
// decide.
func (c *Core) AskWithin(ctx context.Context, apikey, endpoint string, n int64) (tickgate.Decision, error) {
	if c.sync == nil {
		return tickgate.Decision{Reason: tickgate.Unsettled}, errors.New("service: nothing is shared")
	}
	return c.sync.Take(ctx, apikey, endpoint, n)
}

// syncStats is what the collector shows of Redis.
func (c *Core) syncStats() promlimit.Sync {
	s := c.sync.Stats()
	const million = 1e6
	return promlimit.Sync{
		Nodes: s.Nodes, Away: s.Away, ViewAge: s.Silent,
		Overshoot: s.Overshoot, CreditUsed: s.Fullest, Debt: float64(s.Debt) / million,
		Leases: s.Held, Leased: s.Leased, Returned: s.Returned, Wasted: s.Wasted, Learning: s.Learning,
		SyncMedian: s.Sync.P50, SyncP99: s.Sync.P99, OldestWait: s.Oldest,
		FuseOpened: s.FuseOpened, Sent: s.Syncs, Acked: s.Acked,
		Unknown: s.Unknown, Failed: s.NotSent + s.Moved + s.ReadOnly + s.Busy + s.Refused,
		Redirected: s.Moved, ScriptsLoaded: s.Transport.NoScript,
		Created: s.Created, Lost: s.Lost, Charged: s.Charged, Granted: s.Granted,
		Forgiven: s.Forgiven / million, StrictFailed: s.Strict.Failed,
	}
}
