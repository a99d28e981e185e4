package main

import (
	"errors"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/doctor"
)

type doctorCmd struct {
	JSON    bool          `name:"json" help:"Print as JSON."`
	Measure time.Duration `default:"1s" placeholder:"DURATION" help:"How long the clock's drift is measured, 1ms to 1m (default ${default})."`
}

// Help is printed under the flags.
func (doctorCmd) Help() string {
	return `Prints the clock a gate would use and why, the frequency of the processor's counter and its drift
against the system's clock, the cost of one look at it, the size of a cache line, whether a gate of a
million keys got huge pages, the processors, and what to change. Takes the memory of that gate while
it runs.

Examples:

  tickgate doctor
  tickgate doctor --json --measure 10s`
}

// Validate is called by the parser.
func (c *doctorCmd) Validate() error {
	if c.Measure < time.Millisecond || c.Measure > time.Minute {
		return errors.New("--measure must be 1ms to 1m")
	}
	return nil
}

// Run is called by the parser.
func (c *doctorCmd) Run(w *world) error {
	r := doctor.Examine(doctor.Options{Measure: c.Measure})
	if c.JSON {
		return doctor.WriteJSON(w.stdout, &r)
	}
	return doctor.WriteText(w.stdout, &r)
}
