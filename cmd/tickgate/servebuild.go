package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/certs"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/front"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/proxy"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/route"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/server"
)

// secure reads what TLS needs. That clients will refuse a certificate is no error: it may
// be renewed under way to them, and some do not look.
func (c *serveCmd) secure(cfg *server.Config, w *world, log *slog.Logger) (err error) {
	t := &c.TLS
	switch {
	case t.Cert == "" && t.Key == "" && t.ClientCA == "":
		return nil
	case t.Cert == "" || t.Key == "":
		return errors.New("--tls-cert, --tls-key and --tls-client-ca: TLS needs a certificate and its key; give both")
	}
	if cfg.TLS, err = certs.Server(t.Cert, t.Key, t.ClientCA); err != nil {
		return fmt.Errorf("--tls: %w", err)
	}
	if fault := certs.Outdated(cfg.TLS, w.now()); fault != "" {
		log.Warn("clients will refuse the certificate of --tls-cert", "cause", fault)
	}
	return nil
}

// serveMemory makes the example.
func (c *serveCmd) serveMemory(cfg *server.Config, w *world, log *slog.Logger) error {
	service, err := memory.New(memory.Config{Lookup: w.lookup, Log: log, Hold: holdFor(c.Delay)})
	if err != nil {
		return err
	}
	cfg.Handler, cfg.Workers = service, []func(context.Context){service.Run}
	return nil
}

// holdFor waits, as long as the client does.
func holdFor(delay time.Duration) func(context.Context) {
	if delay <= 0 {
		return nil
	}
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, delay)
		defer done()
		<-ctx.Done()
	}
}

// front reads what the proxy, and all that is in front of it, is made of.
func (c *serveCmd) front(w *world, log *slog.Logger) (front.Config, error) {
	var err error
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", flag, err))
		}
	}
	f := front.Config{
		MaxKeys:   c.MaxKeys,
		OnMissing: httplimit.FailClosed,
		Once:      c.once(),
		Proxy: proxy.Config{
			Timeout: c.UpstreamTimeout, MaxBody: int64(c.MaxBody), TrustForwarded: c.TrustForwarded, Log: log,
		},
		Now: w.now, Log: log, LogCallers: c.LogCallers,
	}
	f.Proxy.Upgrades, err = upgrades(c.Upgrade)
	fault("--upgrade", err)
	if c.OnMissing == "allow" {
		f.OnMissing = httplimit.FailOpen
	}
	for h := httplimit.IETF; h <= httplimit.None; h++ {
		if h.String() == c.Headers {
			f.Headers = h
		}
	}
	f.Proxy.Upstream, err = proxy.ParseUpstream(c.Upstream)
	fault("--upstream", err)
	if c.UpstreamCA != "" {
		f.Proxy.RootCAs, err = certs.Pool(c.UpstreamCA)
		fault("--upstream-ca", err)
		if strings.HasPrefix(c.Upstream, "http://") {
			fault("--upstream-ca", errors.New("goes with an --upstream that begins with https://"))
		}
	}
	f.Sources, err = sources(c.Key)
	faults = append(faults, err)
	if c.Keys != "" {
		f.Accepted, err = caller.Load(c.Keys)
		fault("--keys", err)
	}
	if f.Policies, err = c.policies(); err == nil {
		_, err = route.New(f.Policies)
	}
	faults = append(faults, err)
	return f, errors.Join(faults...)
}

// policies returns what the flags say.
func (c *serveCmd) policies() (policy.Set, error) {
	builtIn, _ := policy.Default().Lookup(policy.DefaultEndpoint)
	return policyfile.Read(policy.Set{builtIn}, c.Policies, c.Set)
}

// once returns how retries are made safe, nil if they are not.
func (c *serveCmd) once() *front.Once {
	i := &c.Idempotency
	if i.Mode == "off" {
		return nil
	}
	return &front.Once{
		Field: i.Field,
		Missing: map[string]httplimit.MissingID{
			"require": httplimit.RequireID, "hash": httplimit.HashContent, "pass": httplimit.PassThrough,
		}[i.Missing],
		TTL: i.TTL, MaxRecords: i.Records, MaxBytes: int64(i.Memory),
		PerCaller: i.Each, MaxResult: int(i.Result), Headers: i.Headers,
	}
}

// sources reads where keys are.
func sources(flags []string) (all []caller.Source, err error) {
	if len(flags) == 0 {
		return caller.Defaults(), nil
	}
	var faults []error
	for _, text := range flags {
		s, err := caller.ParseSource(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("--key %w", err))
		}
		all = append(all, s)
	}
	return all, errors.Join(faults...)
}

// upgrades reads the protocols that connections may be upgraded to.
func upgrades(flags []string) ([]string, error) {
	switch {
	case len(flags) == 0:
		return []string{"websocket"}, nil
	case slices.Contains(flags, "none"):
		if len(flags) > 1 {
			return nil, errors.New("none does not go with others; leave it out or leave the others out")
		}
		return nil, nil
	}
	var faults []error
	for _, name := range flags {
		if strings.ContainsAny(name, " \t,") || name == "" {
			faults = append(faults, fmt.Errorf("%q: must be the name of one protocol, as in websocket", name))
		}
	}
	return flags, errors.Join(faults...)
}
