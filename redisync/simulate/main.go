// Command simulate has up to thousands of nodes share one budget through a model of Redis, in
// virtual time and in one process, and prints how far they go beyond the limit, what that costs
// Redis, and how fast they settle after a change. The nodes are gates and Syncs as they ship.
//
//	go run ./simulate                     2 to 1000 nodes, under three minutes of one processor
//	go run ./simulate -short              2 to 32 nodes, seconds
//	go run ./simulate -nodes 50 -credit 4 -seed 7
//	go run ./simulate -md                 the tables as Markdown
//
// The same arguments give the same tables, but for a last digit now and then. Exit status: 0, or 1 when a bound was broken or a
// token was charged twice or not at all, 2 for wrong arguments.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickgate/tickgate/redisync/internal/fleet"
)

type options struct {
	nodes  []int
	credit int64
	seed   uint64
	short  bool
	md     bool
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	// Virtual time is to be had in a test only, so this is one. Its goroutines take turns:
	// more processors would only wait for each other.
	runtime.GOMAXPROCS(1)
	os.Args = os.Args[:1]
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "simulate", F: func(t *testing.T) {
		start := time.Now()
		if err := o.run(t, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "simulate:", err)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "simulated in %v\n", time.Since(start).Round(time.Second))
		os.Exit(0)
	}}}, nil, nil)
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := new(options)
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	nodes := flags.String("nodes", "", fmt.Sprintf("numbers of nodes, 2 to %d, with commas; empty: 2,8,32,100,300,1000, with -short 2,8,32", fleet.MaxNodes))
	flags.Int64Var(&o.credit, "credit", 0, fmt.Sprintf("tokens that a node may use before the others know, 1 to %d; 0: 200 over the nodes, at least 1", limit.Capacity))
	flags.Uint64Var(&o.seed, "seed", 1, "of everything random")
	flags.BoolVar(&o.short, "short", false, "fewer nodes, for less long")
	flags.BoolVar(&o.md, "md", false, "print Markdown")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if o.credit < 0 || o.credit > limit.Capacity {
		faults = append(faults, fmt.Errorf("-credit %d: must be 0 to %d", o.credit, limit.Capacity))
	}
	if *nodes == "" {
		if *nodes = "2,8,32,100,300,1000"; o.short {
			*nodes = "2,8,32"
		}
	}
	for text := range strings.SplitSeq(*nodes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n > fleet.MaxNodes {
			faults = append(faults, fmt.Errorf("-nodes %s: must be 2 to %d", text, fleet.MaxNodes))
		}
		o.nodes = append(o.nodes, n)
	}
	return o, errors.Join(faults...)
}

// run plays everything and prints the tables. It plays on where a rule was broken, and
// reports that in the end.
func (o *options) run(t *testing.T, w, progress io.Writer) error {
	var loads, changes []fleet.Result
	var faults []error
	for _, n := range o.nodes {
		for _, s := range o.scenes(n) {
			fmt.Fprintf(progress, "%d nodes, %s, %v\n", s.Nodes, s.Load, s.Length)
			r, err := fleet.Play(t, s)
			faults = append(faults, err)
			if r.Away == 0 {
				loads = append(loads, r)
			}
			if r.Load == fleet.Greedy {
				changes = append(changes, r)
			}
		}
	}
	for _, table := range []table{loadTable(loads), changeTable(changes), memoryTable(o.nodes)} {
		table.write(w, o.md)
	}
	return errors.Join(faults...)
}
