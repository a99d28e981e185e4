package latency

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tickgate/tickgate/clock"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/numeral"
)

// The ranges of Options.
const (
	MinDuration, MaxDuration = 10 * time.Millisecond, 10 * time.Minute
	MinKeys, MaxKeys         = 10_000, 10_000_000
	MaxRate                  = 5_000_000 // what one thread can time, and hardly more
)

// Options say what to measure.
type Options struct {
	Duration time.Duration // of calls of each path, and as much of the empty loop
	Rate     int64         // calls that are due in a second; 0: closed loop
	Keys     int           // live in the gate
	CPU      *int          // the thread that measures stays on it; nil: it may move
	GCLoad   bool          // a heap is collected meanwhile
	Paths    []string      // names; empty: all

	Clock    clock.Clock           // nil: clock.Default()
	Progress func(done, total int) // may be nil; told before every path how many are done
}

// Check reports every fault at once, in the words of the command's flags.
func (o *Options) Check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Duration < MinDuration || o.Duration > MaxDuration {
		add("--duration %v: must be %v to %v", o.Duration, MinDuration, MaxDuration)
	}
	if o.Rate < 0 || o.Rate > MaxRate {
		add("--rate %d: must be 1 to %s calls a second", o.Rate, numeral.Comma(MaxRate))
	}
	if slice := sliceOf(o.Duration); o.Rate > 0 && slice > 0 {
		if least := int64((due*time.Second + slice - 1) / slice); o.Rate < least {
			add("--rate %d: at least %s calls a second, so that %d are due in each of the slices of %v that take turns with the empty loop",
				o.Rate, numeral.Comma(least), due, slice)
		}
	}
	if o.Keys < MinKeys || o.Keys > MaxKeys {
		add("--keys: must be %s to %s", numeral.Comma(MinKeys), numeral.Comma(MaxKeys))
	}
	if o.CPU != nil {
		if err := checkCPU(*o.CPU); err != nil {
			add("--cpu %d: %w", *o.CPU, err)
		}
	}
	for i, name := range o.Paths {
		switch {
		case !slices.Contains(Names(), name):
			add("--path %.40q: no path has that name; there are %s", name, strings.Join(Names(), ", "))
		case slices.Contains(o.Paths[:i], name):
			add("--path %s: is given twice", name)
		case name == gateAll && o.Keys == MinKeys:
			add("--path %s: is %s with %s keys; ask for more, as in --keys 1M", name, gate10k, numeral.Comma(MinKeys))
		}
	}
	return errors.Join(faults...)
}

// wants says whether the path of that name is to be measured.
func (o *Options) wants(name string) bool {
	if len(o.Paths) > 0 {
		return slices.Contains(o.Paths, name)
	}
	return name != gateAll || o.Keys > MinKeys
}
