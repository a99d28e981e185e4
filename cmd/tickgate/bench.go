package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/latency"
)

// benchCmd takes its numbers as text, so that Validate can report a fault in
// every one of them and not only the first.
type benchCmd struct {
	Duration string   `default:"1s" placeholder:"DURATION" help:"How long each path is called, 10ms to 10m; the empty loop takes as long again (default ${default})."`
	Rate     string   `placeholder:"N" help:"Calls that are due in a second, such as 50k, timed from when they are due. Default: a closed loop, each call after the last."`
	Keys     string   `default:"10k" placeholder:"N" help:"Live keys in the gate, 10k to 10M; above 10k, gate-all is measured too. About 200 bytes of memory each, their names included (default ${default})."`
	CPU      string   `name:"cpu" placeholder:"N" help:"Keep the thread that measures on this CPU (Linux)."`
	GCLoad   bool     `name:"gc-load" help:"Keep the garbage collector busy meanwhile, with a live heap of 64 MiB of small objects."`
	Path     []string `placeholder:"NAME" help:"Measure only this path. Repeatable, or several with commas. Default: all."`
	JSON     bool     `name:"json" help:"Print as JSON."`
	HTML     string   `name:"html" placeholder:"FILE" help:"Also write the report, with plots, as one HTML page that needs no network."`

	options latency.Options
}

// Help is printed under the flags.
func (benchCmd) Help() string {
	return `Prints how long single calls take on this machine, p50 to p99.99 and the longest, of each path:

  handle-at        Handle.AllowAt with the caller's time, allowed; handle-at-deny: denied
  handle           Handle.Allow with the gate's clock
  endpoint         Endpoint.Allow, one key
  gate-hot         Gate.Allow, one key; gate-10k: 10,000 keys in random order; gate-all: all --keys
  batch            Gate.TakeBatch of 64 of all --keys; the time is that of the whole batch
  first-seen       Gate.Allow of a key never seen; first-seen-full: in a full gate, which drops others

Beside each path stands an empty loop: the same code with nothing in the call's place, run in turns with
the path. Its median, two readings of the clock and a call, is the overhead of measuring and is subtracted
from every figure. Its tail is the machine's: interrupts, a hypervisor, other processes, the garbage
collector. "own" is the path's quantile minus the empty loop's. It is a difference of quantiles: a tail no
longer than the machine's cannot be seen, and a long call, such as a batch, meets more interrupts than an
empty one. The quieter the machine, the more it says: stop what else runs, and use --cpu.

Without --rate a stall is one slow call. With it, each call is timed from when it was due, so that a stall
is in all calls it held up, as it is for users who do not wait for each other (coordinated omission). The
program waits by reading the clock, which keeps one CPU busy.

Targets: the own p99.9 of handle-at and of handle-at-deny is at most 3 times the p50; no path allocates. They are
reported as passed, missed, or open where the run cannot tell.

Examples:

  tickgate bench
  tickgate bench --cpu 1 --duration 10s --html latency.html
  tickgate bench --keys 1M --gc-load
  tickgate bench --rate 100k --path handle-at,gate-10k --json

GOGC, GOMEMLIMIT and GOMAXPROCS are those of the environment, and are shown.

Exit status: 0 done, whatever the targets, 1 failed, 2 wrong usage, 130 interrupted.`
}

// Validate is called by the parser.
func (c *benchCmd) Validate() error {
	o := latency.Options{Duration: time.Second, Keys: latency.MinKeys, GCLoad: c.GCLoad, Paths: c.Path}
	var faults []error
	if d, err := time.ParseDuration(c.Duration); err != nil {
		faults = append(faults, fmt.Errorf("--duration %.40q: must be a duration, as in 500ms or 10s", c.Duration))
	} else {
		o.Duration = d
	}
	if n, err := amount(c.Keys); err != nil {
		faults = append(faults, fmt.Errorf("--keys %.40q: %w", c.Keys, err))
	} else {
		o.Keys = int(min(n, latency.MaxKeys+1))
	}
	if c.Rate != "" {
		if n, err := amount(c.Rate); err != nil {
			faults = append(faults, fmt.Errorf("--rate %.40q: %w", c.Rate, err))
		} else if o.Rate = n; n == 0 { // which in Options is the closed loop
			faults = append(faults, errors.New("--rate 0: no call would ever be due; leave --rate out for a closed loop"))
		}
	}
	if c.CPU != "" {
		if n, err := strconv.Atoi(c.CPU); err != nil || n < 0 {
			faults = append(faults, fmt.Errorf("--cpu %.40q: must be the number of a CPU, from 0 up", c.CPU))
		} else {
			o.CPU = &n
		}
	}
	faults = append(faults, o.Check(), checkPage(c.HTML))
	c.options = o
	return errors.Join(faults...)
}

// amount reads a whole number, not negative, in units, thousands (k) or millions (M).
func amount(text string) (int64, error) {
	digits, unit := text, int64(1)
	for _, u := range [...]struct {
		letter string
		worth  int64
	}{{"k", 1e3}, {"M", 1e6}} {
		if short, ok := strings.CutSuffix(text, u.letter); ok {
			digits, unit = short, u.worth
		}
	}
	n, err := strconv.ParseUint(digits, 10, 40) // times a million is far from too large
	if err != nil {
		return 0, errors.New("must be a whole number, as in 5000, 50k or 1M")
	}
	return int64(n) * unit, nil
}

// checkPage fails early where the page could not be written at the end.
func checkPage(file string) error {
	if file == "" {
		return nil
	}
	if file == "-" {
		return errors.New("--html -: the page goes to a file; name one")
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return fmt.Errorf("--html %s: is a directory, expected a file", file)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return fmt.Errorf("--html %s: there is no directory %s to write it to", file, filepath.Dir(file))
	}
	return nil
}

// Run is called by the parser.
func (c *benchCmd) Run(ctx context.Context, w *world) error {
	o := c.options
	if w.isTerm {
		o.Progress = func(done, total int) {
			fmt.Fprintf(w.stderr, "\rmeasuring path %d of %d", done+1, total)
		}
	}
	r, err := latency.Run(ctx, o)
	if w.isTerm {
		fmt.Fprintf(w.stderr, "\r%s\r", strings.Repeat(" ", len("measuring path 10 of 10")))
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			return err
		}
		err = &failed{exitInterrupted, fmt.Errorf("interrupted, paths measured: %d", len(r.Paths))}
		if len(r.Paths) == 0 {
			return err
		}
	}
	written := forms[*latency.Report]{latency.WriteText, latency.WriteJSON, latency.WriteHTML}.print(w, &r, c.JSON, c.HTML)
	return errors.Join(err, written)
}
