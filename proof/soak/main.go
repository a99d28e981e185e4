// Command soak lets a gate run for long under all it can be asked at once, and checks
// all along, and at rest afterwards, that it keeps what it promises.
//
//	go run ./soak -length 10m
//	go run -tags invariants ./soak -length 10m
//
// A million keys come and go in a table that holds half of them, while the policies
// change every second, the clock jumps forth and back, and handles, groups, waits,
// refunds, charges, bans and blocks go on, two gates share budgets through an account, and
// two more through a redis-server that it starts. It prints a table and ends with status 1
// if anything was violated.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tickgate/tickgate/internal/invariants"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the command; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	length := flags.Duration("length", 10*time.Minute, "how long to run, 2s or more")
	keys := flags.Int("keys", 1_000_000, "keys that come and go, 1000 or more; the table holds half of them")
	seed := flags.Uint64("seed", 1, "of what is random")
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0
		}
		return 2
	}
	switch {
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "soak: unexpected argument %q; there are flags only\n", flags.Arg(0))
		return 2
	case *length < 2*time.Second || *keys < 1000:
		fmt.Fprintln(stderr, "soak: -length must be 2s or more, -keys 1000 or more")
		return 2
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	rows, faults, err := soak(plan{length: *length, keys: *keys, seed: *seed, stop: interrupted})
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	report(stdout, rows, faults)
	if len(faults) > 0 {
		return 1
	}
	return 0
}

// row is a line of the report.
type row struct{ what, got, must string }

func report(w io.Writer, rows []row, faults []string) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.what, r.got, r.must)
	}
	t.Flush()
	if !invariants.Enabled {
		fmt.Fprintln(w, "the checks inside of the gate are off; -tags invariants has them on")
	}
	if len(faults) == 0 {
		fmt.Fprintln(w, "nothing was violated")
		return
	}
	fmt.Fprintf(w, "VIOLATED\n%s\n", strings.Join(faults, "\n"))
}
