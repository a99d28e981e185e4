package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tickgate/tickgate/adapter/envoyrls"
	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/certs"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/front"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/route"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

// plan is what is to be served, as flags, files and environment say. Nothing is open yet.
type plan struct {
	*serveFlags
	w   *world
	log *slog.Logger

	example *example // nil without --example

	front *front.Config   // nil without --upstream
	tls   *certs.Live     // nil: plain
	stack *pgconfig.Stack // nil where no surface has its policies from there
	redis *service.Redis  // nil: not shared
}

// plan reads everything but what is on other machines. It reports every fault. Sources of
// policies log to sources.
func (c *serveFlags) plan(given []string, w *world, log, sources *slog.Logger) (*plan, error) {
	p := &plan{serveFlags: c, w: w, log: log}
	example := slices.Contains(given, "example")
	faults := []error{c.environment(given, example, w.lookup), c.check(given), p.secure()}
	if c.Example == exampleMemory {
		api, err := c.newExample(w.lookup, log)
		p.example, faults = api, append(faults, err)
	}
	if slices.Contains(given, "upstream") {
		cfg, err := c.front(w, log)
		p.front, faults = &cfg, append(faults, err)
	}
	if !example && c.Listen != off {
		faults = append(faults, p.policies(sources), p.share())
	}
	if c.RLS.Listen != "" && len(c.RLS.Paths) > 0 {
		files, err := envoyrls.Read(c.RLS.Paths...)
		if err == nil {
			_, err = envoyrls.New(envoyrls.Config{}, files...)
		}
		faults = append(faults, prefixed("--rls-config", err))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return p, nil
}

// environment completes what is not given by variables that other programs of the field
// have too.
func (c *serveFlags) environment(given []string, example bool, lookup func(string) (string, bool)) error {
	if example {
		return nil // which reads its own
	}
	flags := map[string]string{
		"RATE_LIMITER_CACHE_SIZE": "max-keys", "MEM_IDEMPOTENCY_TTL_SECS": "idempotency-ttl", "REDIS_URL": "redis",
	}
	set := map[string]bool{}
	env, err := policy.EnvFrom(func(name string) (string, bool) {
		if flag := flags[name]; slices.Contains(given, flag) {
			return "", false
		}
		text, ok := lookup(name)
		set[name] = ok && strings.TrimSpace(text) != ""
		return text, ok
	})
	if err != nil {
		return err
	}
	if set["RATE_LIMITER_CACHE_SIZE"] {
		c.MaxKeys = env.CacheSize
	}
	if set["MEM_IDEMPOTENCY_TTL_SECS"] {
		c.Idempotency.TTL = env.IdempotencyTTL
	}
	if set["REDIS_URL"] {
		c.Redis.URL = env.RedisURL
	}
	return nil
}

// secure reads what TLS needs. That clients will refuse a certificate is no error: it may
// be renewed under way to them, and some do not look.
func (p *plan) secure() (err error) {
	t := &p.TLS
	switch {
	case t.Cert == "" && t.Key == "" && t.ClientCA == "":
		return nil
	case t.Cert == "" || t.Key == "":
		return errors.New("--tls-cert, --tls-key and --tls-client-ca: TLS needs a certificate and its key; give both")
	}
	if err := p.checkPEM(); err != nil {
		return err
	}
	if p.tls, err = certs.Load(t.Cert, t.Key, t.ClientCA); err != nil {
		return prefixed("--tls", err)
	}
	if fault := p.tls.Outdated(p.w.now()); fault != "" {
		p.log.Warn("clients will refuse the certificate of --tls-cert", "cause", fault)
	}
	return nil
}

// policies makes the layers of policies. Where none of them is on another machine it also
// judges what they say together, so that every fault is reported at once.
func (p *plan) policies(log *slog.Logger) error {
	cfg := pgconfig.Sources{Defaults: policy.Set{}, Environment: p.w.lookup, Last: p.commandLine(), Log: log}
	cfg.Check = p.servable
	var faults []error
	if p.Postgres.URL != "" {
		conn, err := pgx.ParseConfig(p.Postgres.URL)
		if err != nil {
			faults = append(faults, fmt.Errorf("--postgres: %w; write it as postgres://USER@HOST:PORT/DATABASE", err))
		} else if source, err := pgconfig.NewPostgres(pgconfig.PostgresConfig{Conn: conn, PollOnly: p.Postgres.Poll, Log: log}); err != nil {
			faults = append(faults, err)
		} else {
			cfg.PostgreSQL = source
		}
	}
	set := policy.Set{}
	switch {
	case p.Policies != "":
		source, err := pgconfig.NewFile(pgconfig.FileConfig{Path: p.Policies, Log: log})
		if err != nil {
			faults = append(faults, err)
		} else {
			cfg.File = source
		}
		if err = checkFile("policies", p.Policies, policy.MaxBytes); err == nil {
			set, err = policyfile.Load(p.Policies)
		}
		faults = append(faults, err)
	case p.Postgres.URL == "":
		set = p.defaults()
		cfg.Defaults = set
	}
	stack, composing := pgconfig.Compose(cfg)
	p.stack = stack
	return errors.Join(append(faults, composing, judge(set, &cfg, composing, p.Postgres.URL == ""))...)
}

// servable says what keeps a set from being served: before an upstream as routes, and
// while budgets are shared as what the others count too.
func (p *plan) servable(set policy.Set) error {
	var faults []error
	if p.front != nil {
		_, err := route.New(set)
		faults = append(faults, err)
	}
	if p.redis != nil {
		faults = append(faults, p.redis.Follows(set))
	}
	return errors.Join(faults...)
}

// commandLine is the layer of --set.
func (p *plan) commandLine() pgconfig.Layer {
	return pgconfig.Layer{Name: "command line", Over: func(below policy.Set) (policy.Set, error) {
		return policyfile.Override(below, p.Set)
	}}
}

// defaults are the policies where no source of them is named.
func (p *plan) defaults() policy.Set {
	if p.front == nil {
		return policy.Default()
	}
	builtIn, _ := policy.Default().Lookup(policy.DefaultEndpoint) // the others are no patterns
	return policy.Set{builtIn}
}

// judge returns the faults of what is over a set, and if the set is whole, of all of it.
// Those of the environment are left out where they are known.
func judge(set policy.Set, cfg *pgconfig.Sources, known error, whole bool) error {
	below, fromEnv := policy.FromEnv(set, cfg.Environment)
	if fromEnv != nil {
		below = set
	}
	all, assigning := cfg.Last.Over(below)
	if err := errors.Join(fromEnv, assigning); err != nil {
		if known != nil {
			return assigning
		}
		return err
	}
	if whole && set != nil {
		return cfg.Check(all)
	}
	return nil
}

// share reads how budgets are shared.
func (p *plan) share() error {
	if p.Redis.URL == "" || p.Redis.URL == off {
		return nil
	}
	r := &service.Redis{
		URL: p.Redis.URL, Prefix: p.Redis.Prefix, Nodes: p.Redis.Nodes, Deadline: p.Redis.Deadline, Quiet: p.Redis.Quiet, Lookup: p.w.lookup,
		Modes: map[string]redisync.Mode{}, Optional: p.remembers(),
	}
	faults := []error{r.Away.UnmarshalText([]byte(p.Redis.Away))}
	leases := false
	for _, text := range p.Redis.Modes {
		at := strings.LastIndexByte(text, '=')
		if at <= 0 {
			faults = append(faults, fmt.Errorf("--redis-mode %q: must be ENDPOINT=MODE, as in 'POST /orders=strict'", text))
			continue
		}
		var mode redisync.Mode
		if err := mode.UnmarshalText([]byte(text[at+1:])); err != nil {
			faults = append(faults, fmt.Errorf("--redis-mode %w", err))
		}
		r.Modes[text[:at]] = mode
		leases = leases || mode == redisync.Lease
	}
	if r.Quiet > 0 && !leases {
		faults = append(faults, errors.New("--redis-quiet: goes with a --redis-mode of lease, as in 'POST /orders=lease'"))
	}
	p.redis = r
	return errors.Join(faults...)
}

// remembers reports whether results are kept for retries.
func (c *serveFlags) remembers() bool { return c.Upstream != "" && c.Idempotency.Mode != off }

// prefixed puts a flag before every fault.
func prefixed(flag string, err error) error {
	if err == nil {
		return nil
	}
	var faults []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		faults = append(faults, fmt.Errorf("%s: %s", flag, line))
	}
	return errors.Join(faults...)
}

// admitAtMost is how long the beginning may take, with what is on other machines.
const admitAtMost = 30 * time.Second
