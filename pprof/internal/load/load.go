// Package load drives every path of a gate, so that profiles have something to show.
//
// Workers carry the pprof labels policy and path; CPU and goroutine profiles can be
// cut by them.
package load

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// Case is one path under one policy.
type Case struct {
	Policy string // label: the kind of limit
	Path   string // label: the way in, and what is asked

	// Want is what the calls must be answered.
	Want Outcome

	// Open makes the gate, with room for so many workers.
	Open func(workers int) (*Driver, error)
}

// Driver is an open case.
type Driver struct {
	// Calls returns a function for the goroutine of one worker, which makes n
	// decisions and returns how many were allowed.
	Calls func(worker int) func(n int) (allowed int)

	// Beside, if not nil, runs beside the workers until stop is closed: a change of
	// policies, the settling of accounts.
	Beside func(stop <-chan struct{}) error

	// Close ends the use of the gate.
	Close func() error
}

// Outcome is what the calls of a case must be answered.
type Outcome int

// All allowed, all denied, or at least one allowed.
const (
	Allowed Outcome = iota
	Denied
	Some
)

// round is how many decisions a worker makes before it looks whether it is to stop.
const round = 256

// Run opens the case, has the workers decide for d, calls middle, if it is not nil,
// half way, and returns how many decisions were made. It fails where the answers are
// not those that the case is for: the profile would be of another path.
func (c Case) Run(d time.Duration, workers int, middle func() error) (calls int64, err error) {
	dr, err := c.Open(workers)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", c, err)
	}
	defer func() {
		if e := dr.Close(); err == nil {
			err = e
		}
	}()
	var (
		stop           atomic.Bool
		ended          = make(chan struct{})
		total, allowed atomic.Int64
		besideErr      error
		wg             sync.WaitGroup
	)
	labels := pprof.Labels("policy", c.Policy, "path", c.Path)
	for w := range workers {
		calls := dr.Calls(w)
		wg.Go(func() {
			pprof.Do(context.Background(), labels, func(context.Context) {
				n, ok := 0, 0
				for !stop.Load() {
					ok += calls(round)
					n += round
				}
				total.Add(int64(n))
				allowed.Add(int64(ok))
			})
		})
	}
	if dr.Beside != nil {
		wg.Go(func() {
			pprof.Do(context.Background(), pprof.Labels("policy", c.Policy, "path", c.Path+", beside"), func(context.Context) {
				besideErr = dr.Beside(ended)
			})
		})
	}
	time.Sleep(d / 2)
	if middle != nil {
		err = middle()
	}
	time.Sleep(d - d/2)
	stop.Store(true)
	close(ended)
	wg.Wait()
	if err == nil {
		err = besideErr
	}
	if err == nil {
		err = c.check(total.Load(), allowed.Load())
	}
	return total.Load(), err
}

// check fails where the answers are not those of the case.
func (c Case) check(calls, allowed int64) error {
	switch {
	case calls == 0:
		return fmt.Errorf("%s: no call was made: give it more time", c)
	case c.Want == Allowed && allowed != calls, c.Want == Denied && allowed != 0, c.Want == Some && allowed == 0:
		return fmt.Errorf("%s: %d of %d calls were allowed; this path is for calls that are %s", c, allowed, calls, c.Want)
	}
	return nil
}

func (c Case) String() string { return c.Policy + "/" + c.Path }

func (o Outcome) String() string {
	return [...]string{"allowed", "denied", "allowed at least once"}[o]
}
