// Command memoryapi serves an HTTP API with a limit for each caller and endpoint, and
// with retries that do nothing twice. Package memory is the API; here it is only given
// the environment, a log and a server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.LookupEnv, os.Stderr))
}

// run is the program, until ctx is done. The status is 0 if it served and ended in
// order, 1 if it could not, 2 if the command line or the environment is wrong.
func run(ctx context.Context, args []string, lookup func(string) (string, bool), stderr io.Writer) int {
	address, delay, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return complain(stderr, 2, err)
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	service, err := memory.New(memory.Config{Lookup: lookup, Log: log, Hold: holdFor(delay)})
	if err != nil {
		return complain(stderr, 2, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return complain(stderr, 1, fmt.Errorf("-listen %s: %w; write a free address as host:port", address, err))
	}
	if err := serve(ctx, listener, service, log); err != nil {
		return complain(stderr, 1, err)
	}
	return 0
}

// complain prints what is wrong, a line for each.
func complain(stderr io.Writer, status int, err error) int {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "memoryapi: "+line)
	}
	return status
}

func parse(args []string, stderr io.Writer) (address string, delay time.Duration, err error) {
	f := flag.NewFlagSet("memoryapi", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	f.StringVar(&address, "listen", "127.0.0.1:8080", "`address` to serve on, host:port; port 0 takes a free one")
	f.DurationVar(&delay, "delay", 0, "how long an ingest takes, 0s to 30s: to see what retries get meanwhile")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stderr, usage)
		f.SetOutput(stderr)
		f.PrintDefaults()
		fmt.Fprint(stderr, variables)
		return "", 0, err
	case err != nil:
		return "", 0, fmt.Errorf("%w; -help lists the flags", err)
	case f.NArg() > 0:
		return "", 0, fmt.Errorf("unexpected argument %q; -help lists the flags", f.Arg(0))
	case delay < 0 || delay > 30*time.Second:
		return "", 0, fmt.Errorf("-delay %v: must be 0s to 30s", delay)
	}
	return address, delay, nil
}

// holdFor waits, as long as the client does.
func holdFor(delay time.Duration) func(context.Context) {
	if delay == 0 {
		return nil
	}
	return func(ctx context.Context) {
		ctx, done := context.WithTimeout(ctx, delay)
		defer done()
		<-ctx.Done()
	}
}

const usage = `Usage: memoryapi [flags]

Serves an API for memories, with a limit for each caller and endpoint, and with
retries that do nothing twice. It keeps nothing when it ends.

Flags:
`

const variables = `
Environment:
  MEM_RATE_LIMIT_INGEST      POST /memory/ingest   100/hour
  MEM_RATE_LIMIT_QUERY       GET /memory/query     1000/hour
  MEM_RATE_LIMIT_PROJECTS    GET /memory/projects  100/hour
  MEM_RATE_LIMIT_SKILLS      GET /memory/skills    unlimited
  MEM_RATE_LIMIT_BURST       requests in any rolling second, each endpoint: 10
  MEM_IDEMPOTENCY_TTL_SECS   how long a result is kept: 86400
  RATE_LIMITER_CACHE_SIZE    pairs of caller and endpoint held: 10000
`
