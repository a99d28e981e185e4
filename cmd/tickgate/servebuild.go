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

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/certs"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/front"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/proxy"
)

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
func (c *serveFlags) front(w *world, log *slog.Logger) (front.Config, error) {
	var err error
	var faults []error
	fault := func(flag string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", flag, err))
		}
	}
	f := front.Config{
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
		if err := checkFile("upstream-ca", c.UpstreamCA, mostPEM); err != nil {
			faults = append(faults, err)
		} else {
			f.Proxy.RootCAs, err = certs.Pool(c.UpstreamCA)
			fault("--upstream-ca", err)
		}
		if strings.HasPrefix(c.Upstream, "http://") {
			fault("--upstream-ca", errors.New("goes with an --upstream that begins with https://"))
		}
	}
	f.Sources, err = sources(c.Key)
	faults = append(faults, err)
	if c.Keys != "" {
		accepted, err := c.readKeys()
		faults = append(faults, err)
		f.Accepted = caller.NewKeys(accepted)
	}
	return f, errors.Join(faults...)
}

// once returns how retries are made safe, nil if they are not.
func (c *serveFlags) once() *front.Once {
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
