// Command load measures what the limiter of adapter/httplimit costs a service over
// HTTP, on one machine, over loopback.
//
//	go run ./load                 # wrk against the servers in turn, one table
//	go run ./load -take           # the same against tickgate serve, POST /v1/take
//	go run ./load -growth         # a million requests: do goroutines or memory grow?
//	go run ./load -serve allow    # one server by itself, until SIGTERM
//
// The first needs the program wrk, and Linux for the time that a server took of the
// processors. The servers are up all the time and one is loaded at a time, in
// rounds, so that each sees the same ups and downs of the machine:
//
//	bare          a mux, and a handler that writes a small JSON body
//	allow-plain   the same behind a limiter that sends no fields of its own
//	allow         the same behind a limiter that lets everything pass
//	allow-canned  a mux, and a handler that writes what allow answers, made once
//	deny          bare behind a limiter whose quotas are used up: 429 and a problem
//	deny-canned   a mux, and a handler that writes what deny answers, made once
//
//	list          a mux, and a handler that encodes ten results as JSON
//	list-allow    the same behind a limiter that lets everything pass
//	list-deny     list behind a limiter whose quotas are used up
//
// and with -take
//
//	take-bare     a mux, and a handler that reads the body and writes a decision, made once
//	take-timed    the same with the time-outs that tickgate serve has
//	take          tickgate serve with 10,000 callers, one key in a request
//	take-64       the same, 64 keys in a request
//
// The canned ones have no limiter. Beside them the limiter's own work is seen, and
// beside bare also what it costs net/http to send longer answers.
//
// Exit status: 0 when the figures were printed and nothing grew, 1 when they could
// not be taken or something grew, 2 for wrong arguments; with -strict also 1 when a
// target is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/tickgate/tickgate/clock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the command line.
type options struct {
	serve    string
	port     int
	untilEOF bool
	profile  string

	growth   bool
	requests int
	warmup   int
	clients  int

	take     bool
	tickgate string

	callers     int
	servers     string
	connections int
	rounds      int
	round       time.Duration
	strict      bool
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.serve, "serve", "", "serve this alone: "+strings.Join(kinds, ", "))
	flags.IntVar(&o.port, "port", 0, "with -serve: the port on 127.0.0.1; 0: a free one")
	flags.BoolVar(&o.untilEOF, "until-eof", false, "with -serve: end with standard input, too")
	flags.StringVar(&o.profile, "cpuprofile", "", "with -serve: write a profile of the processors to this file")
	flags.BoolVar(&o.growth, "growth", false, "look for growth instead of measuring speed")
	flags.IntVar(&o.requests, "requests", 1_000_000, "with -growth: requests between the two looks")
	flags.IntVar(&o.warmup, "warmup", 200_000, "with -growth: requests before the first look")
	flags.IntVar(&o.clients, "clients", 32, "with -growth: connections")
	flags.BoolVar(&o.take, "take", false, "load the check API of tickgate serve, instead of httplimit")
	flags.StringVar(&o.tickgate, "tickgate", "", "with -take: the program; empty: build it from ../cmd/tickgate")
	flags.IntVar(&o.callers, "callers", 0, "different callers; 0: 10000, with -growth 100000")
	flags.StringVar(&o.servers, "servers", "", "what to load, the bare one first; empty: all")
	flags.IntVar(&o.connections, "connections", 64, "connections of wrk")
	flags.IntVar(&o.rounds, "rounds", 4, "rounds")
	flags.DurationVar(&o.round, "round", 5*time.Second, "length of a server's turn in a round, in whole seconds")
	flags.BoolVar(&o.strict, "strict", false, "exit with status 1 when a target is missed")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "load: unexpected argument %q: everything is given with flags\n", flags.Arg(0))
		return 2
	}
	if err := o.check(); err != nil {
		fmt.Fprintf(stderr, "load: %v\n", err)
		return 2
	}
	if err := o.do(ctx, stdin, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "load: %v\n", err)
		return 1
	}
	return 0
}

func (o *options) do(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case o.serve != "":
		return o.serveAlone(ctx, stdin, stdout)
	case o.growth:
		return growProcess(ctx, o, stdout, stderr)
	}
	return compare(ctx, o, stdout, stderr)
}

func (o *options) serveAlone(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	s, err := newService(o.serve, o.callers, clock.Default())
	if err != nil {
		return err
	}
	if o.untilEOF {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			end()
		}()
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return serve(ctx, s, o.port, stdout)
}
