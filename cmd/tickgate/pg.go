package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tickgate/tickgate/adapter/pgconfig"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
)

// pgCmd is what is done to a database.
type pgCmd struct {
	Init pgInitCmd `cmd:"" help:"Make the table of policies, or bring it up to date, and fill it."`
}

type pgInitCmd struct {
	Postgres string `required:"" placeholder:"URL" help:"The database, postgres://USER@HOST:PORT/DATABASE; also TICKGATE_POSTGRES, which no list of processes shows."`
	Policies string `placeholder:"FILE" xor:"what" help:"Fill the table with these policies, JSON or YAML."`
	Defaults bool   `xor:"what" help:"Fill it with tickgate's defaults."`
	Replace  bool   `help:"Also if there are policies in it, which go."`
}

// Help is printed under the flags.
func (pgInitCmd) Help() string {
	return `Makes the table rate_limit_config, what says which version it has, and the triggers that tell running
processes of changes, in the first schema of the search path, in one transaction. Run again, it makes what is
not there. Filling it is another transaction.

Examples:

  tickgate pg init --postgres postgres://owner@db.internal/limits --defaults
  TICKGATE_POSTGRES=postgres://owner:password@db.internal/limits tickgate pg init --policies trading.yaml

Exit status: 0 done, 1 failed, 2 wrong usage.`
}

// pgWithin is how long it all may take.
const pgWithin = 30 * time.Second

// Run is called by the parser.
func (c *pgInitCmd) Run(ctx context.Context, w *world) error {
	config, err := pgx.ParseConfig(c.Postgres)
	if err != nil {
		err = fmt.Errorf("--postgres: %w; write it as postgres://USER@HOST:PORT/DATABASE", err)
	}
	set := policy.Default()
	if c.Policies != "" {
		var loading error
		set, loading = policyfile.Load(c.Policies)
		err = errors.Join(err, loading)
	}
	if c.Replace && c.Policies == "" && !c.Defaults {
		err = errors.Join(err, errors.New("--replace: goes with --policies or --defaults"))
	}
	if err != nil {
		return &failed{exitUsage, err}
	}
	ctx, done := context.WithTimeout(ctx, pgWithin)
	defer done()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("--postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return c.fill(ctx, w, conn, set)
}

func (c *pgInitCmd) fill(ctx context.Context, w *world, conn *pgx.Conn, set policy.Set) error {
	steps, err := pgconfig.Init(ctx, conn)
	if err != nil {
		return err
	}
	for _, step := range steps {
		fmt.Fprintln(w.stdout, "done: "+step)
	}
	if len(steps) == 0 {
		fmt.Fprintln(w.stdout, "the table was up to date")
	}
	there, err := policiesIn(ctx, conn.Config())
	switch {
	case c.Policies == "" && !c.Defaults:
		if err == nil && there == 0 {
			fmt.Fprintln(w.stdout, "it is empty, and refused as such: fill it, with --defaults or --policies for a start")
		}
		return nil
	case !c.Replace && err != nil:
		return fmt.Errorf("the table has content that is no good, --replace lets it go: %w", err)
	case !c.Replace && there > 0:
		return fmt.Errorf("the table has policies already, %d; --replace lets them go", there)
	}
	if err := pgconfig.Save(ctx, conn, set); err != nil {
		return err
	}
	fmt.Fprintf(w.stdout, "saved: policies for %d endpoints\n", len(set))
	return nil
}

// policiesIn counts the policies in the table.
func policiesIn(ctx context.Context, config *pgx.ConnConfig) (int, error) {
	table, err := pgconfig.NewPostgres(pgconfig.PostgresConfig{Conn: config, AllowEmpty: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	if err := table.Load(ctx); err != nil {
		return 0, err
	}
	return len(table.Current()), nil
}
