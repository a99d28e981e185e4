package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1   // the work could not be done, or not all of it
	exitUsage       = 2   // the command line was wrong: nothing was done
	exitInterrupted = 130 // stopped by a signal; what was done is printed
)

// world is all of the outside that a command touches, so that tests can run
// one without a process.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	isTerm         bool // stderr is a terminal
	now            func() time.Time
	sleep          func(context.Context, time.Duration) error
	lookup         func(string) (string, bool) // the environment; nil: nothing is set

	// hangups returns a channel that gets something when files are to be read again. nil:
	// they never are.
	hangups func() (c <-chan struct{}, stop func())
}

// complete stands in for what is nil.
func (w *world) complete() {
	if w.lookup == nil {
		w.lookup = func(string) (string, bool) { return "", false }
	}
	if w.hangups == nil {
		w.hangups = func() (<-chan struct{}, func()) { return nil, func() {} }
	}
}

// say prints one line per fault in err.
func (w *world) say(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(w.stderr, "tickgate: "+line)
	}
}

// cli is the grammar of the command line. It is declared and not built, which
// is why the parser is kong: one struct per command holds its flags, their
// defaults and their help, and the parser brings no other module along into
// the build (cobra brings pflag, and its help is strings apart from the flags
// they describe).
type cli struct {
	Replay      replayCmd      `cmd:"" help:"Replay recorded requests against limits and report what would have been denied."`
	Serve       serveCmd       `cmd:"" help:"Limits as a service: for programs that ask, in front of an API with safe retries, for Envoy."`
	CheckConfig checkConfigCmd `cmd:"" help:"Check what serve is told, and print what would be in force."`
	Bench       benchCmd       `cmd:"" help:"Measure how long single decisions take on this machine, p50 to p99.99."`
	PG          pgCmd          `cmd:"" name:"pg" help:"Policies in PostgreSQL."`
	Doctor      doctorCmd      `cmd:"" help:"Examine this machine: clock, memory, processors, and what to change."`
	Version     versionCmd     `cmd:"" help:"Print the version of this program."`
}

// Help is printed under the list of commands.
func (cli) Help() string {
	return `Examples:

  tickgate replay --policies trading.json orders.csv
  tickgate replay --set 'default=20/s burst=40' --html report.html access.log.gz
  tickgate serve --upstream http://127.0.0.1:9000 --set 'POST /orders=10/s' --set default=50/s
  tickgate serve --example memory
  tickgate check-config --config /etc/tickgate.yaml
  tickgate doctor
  tickgate replay --help`
}

// exit is thrown by the parser after --help and caught by run.
type exit int

// failed is an error that carries its exit status.
type failed struct {
	status int
	err    error
}

func (f *failed) Error() string { return f.err.Error() }
func (f *failed) Unwrap() error { return f.err }

// run executes one command line and returns the exit status. Everything it
// says about faults goes to stderr, results to stdout.
func run(ctx context.Context, args []string, w *world) (status int) {
	defer func() {
		if thrown := recover(); thrown != nil {
			code, ok := thrown.(exit)
			if !ok {
				panic(thrown)
			}
			status = int(code)
		}
	}()
	w.complete()
	var grammar cli
	elsewhere := &settings{lookup: w.lookup}
	parser, err := kong.New(&grammar,
		kong.Name("tickgate"),
		kong.Description("Rate limits decided locally, in nanoseconds: replay recorded traffic, serve with limits, examine a machine."),
		kong.Writers(w.stdout, w.stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(w),
		kong.Resolvers(elsewhere),
	)
	if err != nil {
		w.say(err)
		return exitFailed
	}
	parsed, err := parser.Parse(args)
	if elsewhere.err != nil {
		w.say(elsewhere.err)
		return exitUsage
	}
	if err != nil {
		command := "tickgate"
		var bad *kong.ParseError
		if errors.As(err, &bad) && bad.Context != nil && bad.Context.Command() != "" {
			command += " " + strings.Fields(bad.Context.Command())[0]
		}
		w.say(fmt.Errorf("%w; %s --help lists what there is", elsewhere.explain(err), command))
		return exitUsage
	}
	if err := refuseEmpty(parsed); err != nil {
		w.say(elsewhere.explain(err))
		return exitUsage
	}
	if err := parsed.Run(); err != nil {
		w.say(elsewhere.explain(err))
		var f *failed
		if errors.As(err, &f) {
			return f.status
		}
		return exitFailed
	}
	return exitOK
}

// refuseEmpty returns the faults of flags that are given without a value, as by a variable
// of a script that is not set. To take them for flags that are not given would be to
// leave out what was asked for, a check of keys or of certificates among it.
func refuseEmpty(parsed *kong.Context) error {
	var faults []error
	seen := map[string]bool{}
	for _, p := range parsed.Path {
		if p.Flag == nil || seen[p.Flag.Name] {
			continue
		}
		seen[p.Flag.Name] = true
		list, _ := p.Flag.Target.Interface().([]string)
		if p.Flag.Target.Kind() == reflect.String && p.Flag.Target.Len() == 0 || slices.Contains(list, "") {
			faults = append(faults, fmt.Errorf("--%s: is empty; give it a value, or leave it out", p.Flag.Name))
		}
	}
	return errors.Join(faults...)
}
