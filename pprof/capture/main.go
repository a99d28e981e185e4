// Command capture profiles every path of a gate, and fails if a decision waited or
// allocated.
//
//	go run ./capture                 # all groups, under a minute, into the folder profiles
//	go run ./capture -short          # a look, some seconds
//	go run ./capture -only 'trading/.*join'
//	go run ./capture -list
//	go run ./capture -pgo ../cmd/tickgate/default.pgo
//
// It writes a CPU, allocation, heap, mutex, block and goroutine profile for each group
// of paths, each as a profile for go tool pprof, as a table and as a flame graph. Every
// allocation, contended lock and wait is recorded, not a sample of them. README.md says
// how to read it all.
//
// With -pgo it writes one CPU profile for the compiler instead, of the same paths
// and of tickgate replay, and judges nothing.
//
// Exit status: 0 when the decision path is clean, 1 when it is not or the profiles
// could not be taken, 2 for wrong arguments.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/tickgate/tickgate/pprof/internal/load"
)

const (
	usual = 750 * time.Millisecond // for each path: together well under a minute
	brief = 50 * time.Millisecond
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("capture", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var (
		dir     = flags.String("o", "profiles", "folder for the profiles; made if it is not there, and what was captured into it before is removed")
		short   = flags.Bool("short", false, fmt.Sprintf("shorthand for -each %v", brief))
		each    = flags.Duration("each", usual, "how long each path is driven")
		only    = flags.String("only", "", "drive only the paths whose group/policy/path matches this regular expression")
		list    = flags.Bool("list", false, "print the paths and do nothing")
		workers = flags.Int("workers", max(2, runtime.GOMAXPROCS(0)), "goroutines that decide at one time; a lock shows only with two or more")
		pgo     = flags.String("pgo", "", "write one CPU profile for the compiler to this file and nothing else")
	)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	wrong := func(format string, args ...any) int {
		fmt.Fprintf(stderr, "capture: "+format+"\n", args...)
		return 2
	}
	match, err := regexp.Compile(*only)
	switch {
	case flags.NArg() > 0:
		return wrong("unexpected argument %q: paths are chosen with -only", flags.Arg(0))
	case err != nil:
		return wrong("-only: %v", err)
	case *each < time.Millisecond || *each > time.Minute:
		return wrong("-each must be 1ms to 1m")
	case *workers < 2 || *workers > 1024:
		return wrong("-workers must be 2 to 1024")
	}
	if *short {
		*each = brief
	}
	groups := chosen(match)
	if len(groups) == 0 {
		return wrong("-only %q matches no path: -list prints them", *only)
	}
	if *list {
		for _, g := range groups {
			for _, c := range g.Cases {
				fmt.Fprintln(stdout, g.Name+"/"+c.String())
			}
		}
		return 0
	}
	if *pgo != "" {
		err = writePGO(*pgo, groups, *each, *workers, stderr)
	} else {
		err = capture(*dir, groups, *each, *workers, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "capture:", err)
		return 1
	}
	return 0
}

// chosen returns the groups with the paths that match.
func chosen(match *regexp.Regexp) (groups []load.Group) {
	for _, g := range load.Groups() {
		all := g.Cases
		g.Cases = nil
		for _, c := range all {
			if match.MatchString(g.Name + "/" + c.String()) {
				g.Cases = append(g.Cases, c)
			}
		}
		if len(g.Cases) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
