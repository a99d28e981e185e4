package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/redisync"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/checkapi"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/front"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/profile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/rls"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/server"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

// adminTimeout and adminShutdown are the operators' port's: a profile takes longer than
// answers to callers may, and must not hold up the end.
const adminTimeout, adminShutdown = 2 * time.Minute, time.Second

// begun is what of a plan is made already, and is undone where the rest cannot be.
type begun struct {
	*plan
	running   service.Running
	listeners map[string]net.Listener // by flag
	core      *service.Core
	rls       *rls.Service
	store     func() idem.StoreStats // nil: there is none
}

// start opens the ports, reads what is on other machines and makes all that is to run.
func (p *plan) start(ctx context.Context) (*service.Running, error) {
	b := &begun{plan: p, listeners: map[string]net.Listener{}, running: service.Running{Log: p.log, ShutdownTimeout: p.ShutdownTimeout}}
	err := b.listen()
	if err == nil {
		soon, done := context.WithTimeout(ctx, admitAtMost)
		defer done()
		err = b.make(soon)
	}
	if err != nil {
		return nil, errors.Join(err, b.undo())
	}
	return &b.running, nil
}

// undo ends what was begun.
func (b *begun) undo() (err error) {
	for _, l := range b.listeners {
		_ = l.Close()
	}
	within, done := context.WithTimeout(context.Background(), admitAtMost)
	defer done()
	for _, closer := range b.running.Closers {
		err = errors.Join(err, closer(within))
	}
	return err
}

// listen opens every port. It reports all that cannot be.
func (b *begun) listen() error {
	var faults []error
	for _, port := range b.ports() {
		if port.address == "" || port.address == off {
			continue
		}
		l, err := net.Listen("tcp", port.address)
		if err != nil {
			faults = append(faults, fmt.Errorf("--%s %s: %w; write a free address as HOST:PORT", port.flag, port.address, err))
			continue
		}
		b.listeners[port.flag] = l
	}
	return errors.Join(faults...)
}

func (b *begun) make(ctx context.Context) error {
	if err := b.makeCore(ctx); err != nil {
		return err
	}
	service.Starting(b.core.Ready)
	b.running.Ready, b.running.Reload = b.core.Ready, b.core.Reload
	b.running.Workers = append(b.running.Workers, b.core.Run)
	if b.tls != nil {
		b.core.Watch(service.NewReloadable("certificate", b.tls.Version(), b.log, b.reloadTLS))
	}
	if err := b.data(ctx); err != nil {
		return err
	}
	return b.admin()
}

// makeCore makes the gate that all surfaces share, and Envoy's service. Where that, or
// the example, is all there is, its gate is the one that is shown.
func (b *begun) makeCore(ctx context.Context) (err error) {
	cfg := service.Config{
		Layers: b.stack, MaxKeys: b.MaxKeys, Redis: b.redis, ShowKeys: b.Admin.ShowKeys, Now: b.w.now, Log: b.log,
	}
	if b.example != nil {
		b.store = b.example.Results
		b.core, err = b.example.around(cfg)
		return err
	}
	limits := rls.Config{Paths: b.RLS.Paths, MaxKeys: b.MaxKeys, Headers: b.RLS.Headers}
	limits.Denied = func(version, apikey, endpoint string, n int64, d *tickgate.Decision) {
		b.core.DeniedBy(envoy, version, apikey, endpoint, n, d)
	}
	if b.stack != nil {
		if b.core, err = service.New(ctx, cfg); err != nil {
			return err
		}
		b.running.Closers = append(b.running.Closers, b.core.Close)
		if b.RLS.Listen == "" {
			return nil
		}
		limits.Audit = b.core.Changes.Of(envoy)
		if b.rls, err = rls.New(limits); err == nil {
			b.core.Beside(envoy, b.rls.Gate())
		}
	} else {
		cfg.Name = envoy
		b.core, err = service.Around(cfg, func(audit func(tickgate.Change)) (*tickgate.Gate, error) {
			limits.Audit = audit
			if b.rls, err = rls.New(limits); err != nil {
				return nil, err
			}
			return b.rls.Gate(), nil
		})
	}
	if err != nil {
		return err
	}
	b.serveEnvoy()
	return nil
}

// envoy is the name of the gate of Envoy's limits.
const envoy = "envoy"

// serveEnvoy serves Envoy.
func (b *begun) serveEnvoy() {
	b.warnOpen("rls", "Envoy's service")
	own := rls.Server{IdleTimeout: b.IdleTimeout, ShutdownTimeout: b.ShutdownTimeout, Log: b.log}
	if b.tls != nil {
		own.TLS = b.tls.Config()
	}
	b.core.Watch(service.NewReloadable(rls.Source, b.rls.Version(), b.log, b.rls.Reload))
	if b.stack == nil {
		b.core.Versioned(b.rls.InForce)
	}
	b.running.Surfaces = append(b.running.Surfaces, service.Surface{
		Name: "Envoy's port", Listener: b.listeners["rls"],
		Serve: func(ctx context.Context, l net.Listener) error { return b.rls.Serve(ctx, l, own) },
	})
}

// data serves the example, or the proxy, or the check API, or the last two.
func (b *begun) data(ctx context.Context) error {
	if b.Listen == off {
		return nil
	}
	if b.example != nil {
		b.serve("listen", "", b.example, b.example.Run)
		return nil
	}
	if b.front == nil {
		b.warnOpen("listen", "POST /v1/take")
		b.serve("listen", "", b.checks(nil))
		return nil
	}
	cfg := *b.front
	cfg.Gate, cfg.Denied = b.core.Gate, b.core.Denied
	if b.core.Shared() {
		cfg.Strict, cfg.Ask = b.core.Strict, b.core.AskWithin
	}
	if b.redis != nil && cfg.Once != nil {
		backend, err := redisync.NewIdem(ctx, redisync.IdemConfig{
			URL: b.redis.URL, Prefix: b.redis.Prefix + ":idem", MaxValue: int(b.Idempotency.Result) + roomForHeader, Log: b.log,
		})
		if err != nil {
			return fmt.Errorf("redis: results for retries: %w", err)
		}
		b.running.Closers = append(b.running.Closers, func(context.Context) error { return backend.Close() })
		b.log.Info("results for retries are kept in Redis", "server", service.Server(b.redis.URL))
		cfg.Once.Backend = backend
	}
	made, err := front.New(cfg)
	if err != nil {
		return err
	}
	b.core.Follow = made.Follow
	if _, kept := made.Store(); kept {
		b.store = func() idem.StoreStats { s, _ := made.Store(); return s }
	}
	if cfg.Accepted == nil {
		b.log.Info("any key is taken as it is: it is for the upstream to check it")
	} else {
		b.core.Watch(service.NewReloadable("keys", keysVersion(cfg.Accepted), b.log, b.reloadKeys))
	}
	b.serve("listen", "", made, made.Run)
	if b.Check != "" {
		b.warnOpen("check", "POST /v1/take")
		b.serve("check", "checks", b.checks(caller.Name))
	}
	return nil
}

// roomForHeader is what of a result is not its body, in bytes: headers and lengths.
const roomForHeader = 64 << 10

// reloadTLS reads what TLS needs again.
func (b *begun) reloadTLS() (version string, err error) {
	if err := b.checkPEM(); err != nil {
		return "", err
	}
	return b.tls.Reload()
}

// reloadKeys reads the file of keys again.
func (b *begun) reloadKeys() (version string, err error) {
	accepted, err := b.readKeys()
	if err != nil {
		return "", err
	}
	b.front.Accepted.Set(accepted)
	return keysVersion(b.front.Accepted), nil
}

func keysVersion(k *caller.Keys) string { return fmt.Sprintf("%d keys", k.Len()) }

// checks makes the check API; name is how the gate calls callers.
func (b *begun) checks(name func(string) string) http.Handler {
	cfg := checkapi.Config{Gate: b.core.Gate, Name: name, Take: b.core.Take, Denied: b.core.Denied}
	if b.core.Shared() {
		cfg.Strict, cfg.Ask = b.core.Strict, b.core.Ask
	}
	return profile.Wrap("check", nil, checkapi.New(cfg))
}

// warnOpen says so where whoever asks may ask for every caller, and nothing here keeps
// anybody from asking.
func (b *begun) warnOpen(flag, what string) {
	address, ok := b.listeners[flag].Addr().(*net.TCPAddr)
	if ok && !address.IP.IsLoopback() && b.TLS.ClientCA == "" {
		b.log.Warn(what+" is open to whoever reaches the port, and they may spend every caller's limits: let only your own programs reach it, or give --tls-client-ca",
			"flag", "--"+flag, "address", address.String())
	}
}

// serve has a handler answer at the port of a flag. The check API's answers are short.
func (b *begun) serve(flag, name string, h http.Handler, workers ...func(context.Context)) {
	cfg := server.Config{
		Handler: h, Name: name, MaxHeader: int(b.MaxHeader), Short: flag == "check" || b.Upstream == "" && b.Example == "",
		ReadTimeout: b.ReadTimeout, WriteTimeout: b.WriteTimeout, IdleTimeout: b.IdleTimeout, ShutdownTimeout: b.ShutdownTimeout,
		Workers: workers, Log: b.log,
	}
	if b.tls != nil {
		cfg.TLS = b.tls.Config()
	}
	b.running.Surfaces = append(b.running.Surfaces, service.Surface{
		Name: name, Listener: b.listeners[flag],
		Serve: func(ctx context.Context, l net.Listener) error { return server.Run(ctx, l, cfg) },
	})
}

// admin serves operators.
func (b *begun) admin() error {
	if b.Admin.Listen == off {
		return nil
	}
	cfg := service.AdminConfig{
		AllowHosts: b.Admin.AllowHosts, Version: version(), Idempotency: b.store,
		Sampled: b.example == nil && b.Listen != off && (b.front == nil || b.Check != ""),
	}
	if b.front != nil {
		cfg.Name = caller.Name
	}
	if b.rls != nil {
		cfg.Collectors = []prometheus.Collector{b.rls}
	}
	handler, err := b.core.Admin(cfg)
	if err != nil {
		return err
	}
	own := server.Config{
		Handler: handler, Name: "operators", MaxHeader: int(b.MaxHeader),
		ReadTimeout: adminTimeout, WriteTimeout: adminTimeout, IdleTimeout: b.IdleTimeout, ShutdownTimeout: adminShutdown,
		Log: b.log,
	}
	b.running.Admin = &service.Surface{
		Name: "operators' port", Listener: b.listeners["admin"],
		Serve: func(ctx context.Context, l net.Listener) error {
			if err := server.Run(ctx, l, own); err != nil && ctx.Err() == nil {
				return err
			}
			return nil // a profile that is cut off at the end is no fault
		},
	}
	return nil
}
