package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

type checkConfigCmd struct {
	serveFlags

	Connect bool `help:"Also ask PostgreSQL for its policies, and Redis whether it will do."`
}

// Help is printed under the flags.
func (checkConfigCmd) Help() string {
	return `Takes the flags, the file and the variables of tickgate serve, reads all that it would, and prints what would
be served and which policies would be in force, or every fault. It opens no port, and changes nothing.

Examples:

  tickgate check-config --config /etc/tickgate.yaml
  tickgate check-config --config /etc/tickgate.yaml --connect
  tickgate check-config --upstream http://127.0.0.1:9000 --policies api.yaml --keys keys.txt

Exit status: 0 all is good, 2 faults.`
}

// Run is called by the parser.
func (c *checkConfigCmd) Run(ctx context.Context, w *world, parsed *kong.Context) error {
	warnings := slog.New(slog.NewTextHandler(w.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	warnVariables(warnings, parsed, w.lookup)
	p, err := c.plan(given(parsed), w, warnings, slog.New(slog.DiscardHandler)) // faults are returned too
	if err = errors.Join(err, c.unservable()); err != nil {
		return &failed{exitUsage, err}
	}
	stack, err := c.policiesInForce(ctx, p)
	if err != nil {
		return &failed{exitUsage, err}
	}
	return p.print(w.stdout, stack)
}

// policiesInForce returns the stack of those that would be in force, read; nil where that is for Envoy's files or
// the example to say, or for a database that is not asked.
func (c *checkConfigCmd) policiesInForce(ctx context.Context, p *plan) (*pgconfig.Stack, error) {
	ctx, done := context.WithTimeout(ctx, admitAtMost)
	defer done()
	var faults []error
	if c.Connect && p.redis != nil {
		faults = append(faults, p.redis.Try(ctx))
	}
	var read *pgconfig.Stack
	if p.stack != nil && (c.Connect || c.Postgres.URL == "") {
		set, err := p.stack.Load(ctx)
		if err == nil && p.redis != nil {
			err = p.redis.Check(set)
		}
		read = p.stack
		faults = append(faults, err)
	}
	return read, errors.Join(faults...)
}

// print says what would be served.
func (p *plan) print(out io.Writer, stack *pgconfig.Stack) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, name+"\t"+format+"\n", args...) }
	port := func(name, address, what string) {
		if address != "" && address != off {
			line(name, "%s\t%s", address, what)
		}
	}
	switch {
	case p.example != nil:
		port("listen", p.Listen, "the example "+p.Example)
	case p.front != nil:
		port("listen", p.Listen, "a proxy to "+p.front.Proxy.Upstream.String())
	default:
		port("listen", p.Listen, "POST /v1/take")
	}
	port("check", p.Check, "POST /v1/take")
	port("rls", p.RLS.Listen, "Envoy's limits of "+strings.Join(p.RLS.Paths, ", "))
	port("admin", p.Admin.Listen, "operators")
	if p.tls != nil {
		line("certificate", "%s\tvalid %s", p.TLS.Cert, p.tls.Version())
	}
	if p.front != nil && p.front.Accepted != nil {
		line("keys", "%s\t%s", p.Keys, keysVersion(p.front.Accepted))
	}
	if p.redis != nil {
		line("redis", "%s\tprefix %s", service.Server(p.redis.URL), p.redis.Prefix)
	}
	switch {
	case stack != nil:
		p.printPolicies(t, stack)
	case p.stack != nil:
		line("policies", "of PostgreSQL too: --connect reads them")
	}
	return errors.Join(p.printEnvoy(t), t.Flush())
}

// printEnvoy prints the limits of --rls-config, by where in its domain each is.
func (p *plan) printEnvoy(t io.Writer) error {
	if p.RLS.Listen == "" {
		return nil
	}
	files, err := envoyrls.Read(p.RLS.Paths...)
	if err != nil {
		return err
	}
	made, err := envoyrls.New(envoyrls.Config{Gate: tickgate.Config{MaxKeys: 1}}, files...)
	if err != nil {
		return err
	}
	defer made.Gate().Close()
	fmt.Fprintln(t, "limits for Envoy")
	for _, one := range made.Gate().Policies() {
		fmt.Fprintf(t, "  %s\t%s\n", one.Endpoint, limitsOf(one))
	}
	return nil
}

func (p *plan) printPolicies(t io.Writer, stack *pgconfig.Stack) {
	set, origins, modes := stack.Current(), stack.Origins(), map[string]string{}
	if p.redis != nil {
		modes = p.redis.Shown(set)
	}
	fmt.Fprintf(t, "policies\t%s\n", stack.Version())
	for _, one := range set {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", one.Endpoint, limitsOf(one)+modes[one.Endpoint], origins[one.Endpoint])
	}
}

// limitsOf is what a policy says, in one line.
func limitsOf(p policy.Policy) string {
	var parts []string
	for _, l := range p.Limits {
		parts = append(parts, l.String())
	}
	text := strings.Join(parts, ", ")
	if p.Credit > 0 {
		text += fmt.Sprintf(" credit=%d", p.Credit)
	}
	if p.Shadow {
		text += " shadow"
	}
	return text
}
