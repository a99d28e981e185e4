package pgconfig_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/pgconfig"
)

// A gate whose limits are those of a file, over the defaults: the file is replaced, and
// the audit says which version of it changed what.
func Example() {
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "limits.yaml")
	write := func(text string) {
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			log.Fatal(err)
		}
	}
	write("- {endpoint: trading.submit_order, limits: [30/s]}\n")

	quiet := slog.New(slog.DiscardHandler)
	file, err := pgconfig.NewFile(pgconfig.FileConfig{Path: path, Every: 10 * time.Millisecond, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	stack, err := pgconfig.Compose(pgconfig.Sources{File: file, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	set, err := stack.Load(ctx)
	if err != nil {
		log.Fatal(err)
	}
	changed := make(chan tickgate.Change)
	gate, err := tickgate.New(tickgate.Config{Policies: set, Audit: func(c tickgate.Change) { changed <- c }})
	if err != nil {
		log.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		stack.Run(ctx, gate)
		close(stopped)
	}()

	write("- {endpoint: trading.submit_order, limits: [40/s]}\n")
	c := <-changed
	before, _ := c.Old.Lookup("trading.submit_order")
	after, _ := c.New.Lookup("trading.submit_order")
	fmt.Println(c.Who, before.Limits[0], after.Limits[0])
	fmt.Println(len(gate.Policies()), stack.Origins()["trading.submit_order"], stack.Origins()["default"])
	cancel()
	<-stopped
	// Output:
	// file@25c20aeb7977 30/s 40/s
	// 4 file defaults
}

// A gate that follows the table rate_limit_config, with environment variables over it.
func ExamplePostgres() {
	ctx := context.Background()
	conn, err := pgx.ParseConfig("postgres://tickgate@db.example.com/limits?sslmode=verify-full")
	if err != nil {
		log.Fatal(err)
	}
	pg, err := pgconfig.NewPostgres(pgconfig.PostgresConfig{Conn: conn})
	if err != nil {
		log.Fatal(err)
	}
	stack, err := pgconfig.Compose(pgconfig.Sources{PostgreSQL: pg, Environment: os.LookupEnv})
	if err != nil {
		log.Fatal(err)
	}
	set, err := stack.Load(ctx)
	if err != nil {
		log.Fatal(err) // or Sources.StartWithout: the defaults until the server is back
	}
	gate, err := tickgate.New(tickgate.Config{Policies: set})
	if err != nil {
		log.Fatal(err)
	}
	go stack.Run(ctx, gate)
	// UPDATE rate_limit_config SET capacity = 200, refill_rate = 200 WHERE endpoint = 'trading.submit_order';
	// is in force in about 60 ms.
}
