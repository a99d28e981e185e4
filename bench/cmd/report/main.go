// Command report measures everything that this module measures, on this machine,
// and writes the answer:
//
//	go run ./cmd/report            # at most ten minutes; leave the machine alone
//	go run ./cmd/report -quick     # about a minute, for trying
//	go run ./cmd/report -again     # the report once more, of the results that are there
//
// The benchmarks are compiled once. They run in rounds of all of them, each group
// and each peer in a process of its own, so that every figure sees the same ups
// and downs of the machine; each limiter is filled with a million keys in one more
// process. No further round begins that would not end within -budget.
//
// Into -out come report.md and report.html, which needs nothing but itself, and
// raw/, the results in the form that benchstat reads, under a description of the
// machine. The table is printed on standard output as well, progress on standard
// error. Exit status: 0 when the report was written, 1 when a benchmark failed
// (its output is printed), 2 for wrong arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	start := time.Now()
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "report:", err)
		return 2
	}
	if err := do(ctx, o, start, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "report:", err)
		return 1
	}
	return 0
}

// do measures unless the results are there, and writes the report of them.
func do(ctx context.Context, o options, start time.Time, stdout, stderr io.Writer) error {
	if !o.again {
		if err := measure(ctx, o, start, stderr); err != nil {
			return err
		}
	}
	return write(o.out, stdout, stderr)
}

// measure builds the programs and runs the plan.
func measure(ctx context.Context, o options, start time.Time, stderr io.Writer) error {
	p := o.plan()
	machine := describe(p)
	for _, warning := range warnings(machine) {
		fmt.Fprintln(stderr, "report:", warning)
	}
	raw, err := newRaw(o.out, machine)
	if err != nil {
		return err
	}
	built, err := build(ctx, stderr)
	if err != nil {
		return err
	}
	defer built.remove()
	m := measurer{plan: p, start: start, budget: o.budget, raw: raw, programs: built, now: time.Now, progress: stderr}
	return m.run(ctx)
}
