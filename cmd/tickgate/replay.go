package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/policyfile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/progress"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/replay"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/report"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/source"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/venues"
)

const (
	// maxFaults is how many malformed lines are named; the rest is counted.
	maxFaults = 20
	// mostKeys bounds --max-keys: more would take over 100 GB.
	mostKeys = 1 << 30
	// mostTop bounds --top.
	mostTop = 10_000
)

type replayCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Recordings to replay, in this order, plain or gzipped; - is standard input."`

	Policies   string        `placeholder:"FILE" help:"Policies, as JSON or YAML. Default: the built-in ones, 50/s for endpoints they do not name."`
	Venue      string        `placeholder:"NAME" help:"The limits of a trading venue, as documented; recorded endpoints are classes of messages, such as order.new. list prints the names."`
	Guard      time.Duration `placeholder:"DURATION" help:"Stay within the limits although delays and clocks differ by so much."`
	Set        []string      `sep:"none" placeholder:"ENDPOINT=LIMIT" help:"Replace or add one endpoint's limit, such as 'order.new=100/s burst=20'. Repeatable; several for one endpoint must all pass."`
	Format     string        `enum:"auto,csv,combined,lobster" default:"auto" help:"Format of the recordings: ${enum}. auto looks at the first lines."`
	LobsterKey string        `placeholder:"KEY" help:"Key of every LOBSTER message. Default: the file name up to its first underscore, the ticker."`
	Speed      string        `enum:"max,recorded" default:"max" help:"max replays as fast as it goes, recorded keeps the recorded gaps. The decisions are the same."`
	Strict     bool          `help:"Stop at the first malformed line, with exit status 1."`
	MaxKeys    int           `default:"100000" placeholder:"N" help:"Size of the gate's table, in pairs of key and endpoint (default ${default})."`
	Top        int           `default:"5" placeholder:"N" help:"How many of the worst keys to list per endpoint (default ${default})."`
	JSON       bool          `name:"json" help:"Print the report as JSON."`
	HTML       string        `name:"html" placeholder:"FILE" help:"Also write the report, with plots, as one HTML page that needs no network."`
}

// Help is printed under the flags.
func (replayCmd) Help() string {
	return `Formats:

  csv       ts_ns,apikey,endpoint,cost; the cost is 1 where left out, the header optional
  combined  access logs of Apache and nginx; key: client address, endpoint: method and first path segment
  lobster   LOBSTER message files; new orders are order.new, cancels order.cancel, the rest no requests

Limits:

  100/s   100/10s   6000/m burst=200   unlimited   deny
  (burst is the bucket's capacity: how much passes at once)

Venues: a message passes only if all the counts that its class draws on have room. Each recorded key has
counts of its own, whatever the venue keeps them by. The recorded cost is for what the venue leaves open,
such as the orders of a batch; other costs are the venue's. A class that the venue does not have is
denied, "no policy". --set changes one of the venue's counts. With --guard the limits are those that
stay right at the venue: see the package policy/venue.

Examples:

  tickgate replay --policies trading.json orders.csv
  tickgate replay --venue binance-spot --guard 10ms orders.csv
  tickgate replay --venue list
  tickgate replay --set 'order.new=100/s burst=20' --set 'default=10/s' orders.csv
  tickgate replay --set 'GET /blog=2/s' --json access.log access.log.1.gz
  zcat day.csv.gz | tickgate replay --policies trading.yaml --html report.html -
  tickgate replay --lobster-key desk-7 AAPL_2012-06-21_34200000_57600000_message_1.csv

The report depends on the input and the policies alone: the same input gives the same bytes. What
depends on this machine, the time per decision, goes to standard error with the malformed lines.

Exit status: 0 done, 1 failed (nothing valid, --strict, unreadable input), 2 wrong usage, 130 interrupted.`
}

// Validate is called by the parser.
func (c *replayCmd) Validate() error {
	var faults []error
	if c.MaxKeys < 1 || c.MaxKeys > mostKeys {
		faults = append(faults, fmt.Errorf("--max-keys %d: must be 1 to %d", c.MaxKeys, mostKeys))
	}
	if c.Top < 0 || c.Top > mostTop {
		faults = append(faults, fmt.Errorf("--top %d: must be 0 to %d", c.Top, mostTop))
	}
	if c.LobsterKey != "" {
		if err := source.CheckKey(c.LobsterKey); err != nil {
			faults = append(faults, fmt.Errorf("--lobster-key: %w", err))
		}
	}
	faults = append(faults, c.checkVenue()...)
	stdin := 0
	for _, f := range c.Files {
		if f == source.Stdin {
			stdin++
		}
	}
	if stdin > 1 {
		faults = append(faults, errors.New("- (standard input) is given more than once"))
	}
	return errors.Join(faults...)
}

// Run is called by the parser.
func (c *replayCmd) Run(ctx context.Context, w *world) error {
	if c.Venue == listVenues {
		_, err := io.WriteString(w.stdout, venueNames())
		return err
	}
	preset, err := c.preset()
	if err != nil {
		return err
	}
	set, through := policy.Set(nil), (func(*tickgate.Gate) replay.Taker)(nil)
	if preset != nil {
		set = preset.Policies
		through = func(g *tickgate.Gate) replay.Taker { return venues.New(g, *preset) }
	} else if set, err = c.policies(); err != nil {
		return err
	}
	total, err := c.size()
	if err != nil {
		return err
	}
	if err := c.checkHTML(); err != nil {
		return err
	}
	var bar *progress.Bar
	if w.isTerm {
		bar = progress.New(w.stderr, total, w.now)
	}
	faults := 0
	res, err := replay.Run(ctx, replay.Config{
		Files: c.Files, Stdin: w.stdin,
		Source:   source.Options{Format: source.Format(c.Format), LobsterKey: c.LobsterKey},
		Through:  through,
		Gate:     func(first clock.Time) (*tickgate.Gate, error) { return c.gate(set, first) },
		Recorded: c.Speed == "recorded", Strict: c.Strict, Top: c.Top,
		Now: w.now, Sleep: w.sleep,
		Fault: func(err error) {
			if faults++; faults <= maxFaults {
				bar.Clear()
				w.say(err)
			}
		},
		Progress: bar.Update,
	})
	bar.Clear()
	if faults > maxFaults {
		w.say(fmt.Errorf("and %d more", faults-maxFaults))
	}
	if preset != nil {
		res.Report.Venue = describe(preset, c.Guard)
	}
	n := res.Report.Total.Requests
	if err != nil {
		if n == 0 || c.Strict && isLineError(err) {
			return err
		}
		if errors.Is(err, context.Canceled) {
			err = &failed{exitInterrupted, fmt.Errorf("interrupted, requests so far: %d", n)}
		}
	}
	written := forms[*report.Report]{report.WriteText, report.WriteJSON, report.WriteHTML}.print(w, &res.Report, c.JSON, c.HTML)
	if err := errors.Join(err, written); err != nil {
		return err
	}
	t := res.Timing
	fmt.Fprintf(w.stderr, "%d decisions in %v: %.0f ns each, %.0f in the median batch (on this machine, in this run)\n",
		n, t.Total.Round(time.Microsecond), float64(t.Total)/float64(n), t.Median)
	return nil
}

// policies returns what the flags say.
func (c *replayCmd) policies() (policy.Set, error) {
	set, err := policyfile.Read(policy.Default(), c.Policies, c.Set)
	return venue.Guard(set, c.Guard), err
}

// gate makes the gate the replay drives. Recorded times count from 1970 where
// they have a date, so they are their own wall time.
func (c *replayCmd) gate(set policy.Set, first clock.Time) (*tickgate.Gate, error) {
	return tickgate.New(tickgate.Config{
		Policies: set,
		MaxKeys:  c.MaxKeys,
		Clock:    clock.NewManual(first),
		Wall:     clock.NewManualWall(0),
	})
}

// size returns how many bytes there are to read, 0 where that is not known,
// and fails for a file that cannot be read before anything is replayed.
func (c *replayCmd) size() (int64, error) {
	total, known := int64(0), true
	var faults []error
	for _, f := range c.Files {
		if f == source.Stdin {
			known = false
			continue
		}
		info, err := os.Stat(f)
		switch {
		case err != nil:
			faults = append(faults, err)
		case info.IsDir():
			faults = append(faults, fmt.Errorf("%s: is a directory, expected a file", f))
		case !info.Mode().IsRegular(): // a pipe: looked at when its turn comes
			known = false
		default:
			faults = append(faults, c.probe(f))
			total += info.Size()
		}
	}
	if !known {
		total = 0
	}
	return total, errors.Join(faults...)
}

// probe reports why a regular file cannot be replayed at all.
func (c *replayCmd) probe(file string) error {
	in, err := source.Open(file, nil, source.Options{Format: source.Format(c.Format)})
	if errors.Is(err, source.ErrEmpty) && len(c.Files) > 1 {
		return nil
	}
	if err != nil {
		return err
	}
	_ = in.Close() // a fault behind the beginning is reported when it is read
	return nil
}

func isLineError(err error) bool {
	var line *source.LineError
	return errors.As(err, &line)
}

// checkHTML fails early where the page could not be written at the end.
func (c *replayCmd) checkHTML() error {
	if c.HTML == "" {
		return nil
	}
	if c.HTML == "-" {
		return errors.New("--html -: the page goes to a file; name one")
	}
	if info, err := os.Stat(c.HTML); err == nil {
		if info.IsDir() {
			return fmt.Errorf("--html %s: is a directory, expected a file", c.HTML)
		}
		for _, file := range append([]string{c.Policies}, c.Files...) {
			if in, err := os.Stat(file); err == nil && os.SameFile(in, info) {
				return fmt.Errorf("--html %s: would overwrite %s, which is read; name another file", c.HTML, file)
			}
		}
	}
	if _, err := os.Stat(filepath.Dir(c.HTML)); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}
