package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// options are the arguments.
type options struct {
	out    string
	quick  bool
	again  bool
	rounds int // 0: as planned
	budget time.Duration
}

// maxRounds bounds -rounds, and the width of the numbers in names of files.
const maxRounds = 99

// parseOptions reads the arguments and reports all faults at once.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("report", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.out, "out", "out", "folder to write to")
	flags.BoolVar(&o.quick, "quick", false, "one short round, for trying: the figures mean little")
	flags.BoolVar(&o.again, "again", false, "measure nothing: write the report of the results in -out once more")
	flags.IntVar(&o.rounds, "rounds", 0, fmt.Sprintf("how many rounds, 1 to %d (default 6; 1 with -quick)", maxRounds))
	flags.DurationVar(&o.budget, "budget", 10*time.Minute, "begin no round that would end later than this after the start")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, errors.New("see the flags above")
	}
	var faults []error
	if flags.NArg() > 0 {
		faults = append(faults, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0)))
	}
	if o.out == "" {
		faults = append(faults, errors.New("-out is empty: name a folder"))
	}
	if o.rounds < 0 || o.rounds > maxRounds {
		faults = append(faults, fmt.Errorf("-rounds is %d: give 1 to %d", o.rounds, maxRounds))
	}
	if o.budget <= 0 {
		faults = append(faults, fmt.Errorf("-budget is %v: give a time such as 10m", o.budget))
	}
	if o.again && (o.quick || o.rounds != 0) {
		faults = append(faults, errors.New("-again measures nothing: give it without -quick and -rounds"))
	}
	return o, errors.Join(faults...)
}
