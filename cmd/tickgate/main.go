// Command tickgate puts rate limits and safe retries in front of an API, replays
// recorded traffic against limits, and examines the machine they are to run on.
//
//	tickgate serve --upstream http://127.0.0.1:9000 --set 'POST /orders=10/s' --set default=50/s
//	tickgate replay --policies trading.json orders.csv
//	tickgate doctor
//
// Run tickgate --help, or any command with --help, for all of it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], &world{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		isTerm:  term.IsTerminal(int(os.Stderr.Fd())),
		now:     time.Now,
		sleep:   sleep,
		lookup:  os.LookupEnv,
		hangups: hangups,
	}))
}

// sleep waits for d or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
