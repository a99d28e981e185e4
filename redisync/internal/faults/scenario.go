//go:build linux

package faults

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tickgate/tickgate/redisync/admitted"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// Topology is what kind of Redis serves.
type Topology uint8

// The topologies: one server; three masters; three masters with a replica each.
const (
	Alone Topology = iota
	Masters
	Replicas
)

func (t Topology) String() string {
	switch t {
	case Masters:
		return "3 masters"
	case Replicas:
		return "3 masters, 3 replicas"
	}
	return "alone"
}

// Word is a name in one word.
func (t Topology) Word() string {
	switch t {
	case Masters:
		return "masters"
	case Replicas:
		return "replicas"
	}
	return "alone"
}

// Scenario is a row of the table of faults: what is done to nodes that share a
// budget, and what must hold nevertheless.
type Scenario struct {
	Name  string // one word for each thing that differs, such as lost-replies-credit
	Fault string // what happens, in words

	Topology Topology
	On       []Topology // on which it is played; none: on all
	Server   redistest.Options
	Mode     Mode
	Nodes    int
	Limit    admitted.Limit
	Credit   int64
	Interval time.Duration
	MaxAge   time.Duration
	Away     string
	Deadline time.Duration
	Load     Load

	// Processes gives every node a process of its own, for what cannot be done to a
	// goroutine.
	Processes bool

	// Faults are those of every node's link from the beginning.
	Faults Faults

	// Length is how long the load runs at least, and InCluster at least in a cluster,
	// where some things take their time. 0: a second.
	Length, InCluster time.Duration

	// Disturb does what happens while the load runs. It may end before the load.
	Disturb func(b *Bench)

	// Check looks at the end, after the nodes have left, for what else must hold.
	Check func(b *Bench, r *Result) error

	Expect Expect
}

// Expect is what must hold of a scenario.
type Expect struct {
	// Bound is the most that O may be, in tokens, for each key; Rule says how it
	// comes about. What is asserted is [admitted.Overshoot.Low], and of [admitted.Overshoot.High] that it
	// is not above by more than the calls that reach across the ends of a window.
	Bound float64
	Rule  string

	// PerSecond is added to Bound for each second of the run. What nodes without an
	// answer may share among them (see shares) is added by itself.
	PerSecond float64

	// Asleep says that nodes without an answer do not admit anything meanwhile, so
	// that they share nothing.
	Asleep bool

	// Reach is the part of Bound that O must reach, so that the bound means
	// something. 0: none. What is asserted is [admitted.Overshoot.Low].
	Reach float64

	// Admitted is the least part of the budget that must be admitted. 0: none, as
	// where the load does not use it up.
	Admitted float64

	// Slowest is the longest that 99.9 % of the decisions may take. 0: 20 ms, which
	// no decision that waits for anything keeps, and a busy machine does.
	Slowest time.Duration
}

// Result is what came of a scenario.
type Result struct {
	Scenario *Scenario
	Length   time.Duration
	Stalled  time.Duration // part of the length in which this process did not run
	Bound    float64       // for that length
	Rule     string        // by which it comes about

	Worst    admitted.Overshoot // of the key that exceeded most
	Slack    float64            // tokens that the clocks' drift may have refilled
	Admitted int64              // tokens of all keys
	Budget   float64            // of all keys over the length
	Flow     []int64            // tokens in each tenth of the length
	Denied   int64
	P50      time.Duration // of the decisions
	P999     time.Duration

	Links    Counts // of all links
	Silences int    // longer than a view is trusted, of all links
	Reports  []Report

	// Faults are what did not hold. Empty: the scenario passed. Slow are what a busy machine
	// may not hold either: how much was admitted, how hard the nodes tried.
	Faults, Slow []error
}

// Ratio is what was admitted of the budget.
func (r *Result) Ratio() float64 { return float64(r.Admitted) / r.Budget }

// least is how long a run must be.
func (s *Scenario) least() time.Duration {
	d := max(s.Length, time.Second)
	if s.Topology != Alone {
		d = max(d, s.InCluster)
	}
	return d
}

// fail notes what did not hold.
func (r *Result) fail(format string, args ...any) {
	r.Faults = append(r.Faults, fmt.Errorf(format, args...))
}

// miss notes what did not hold, and need not on a busy machine.
func (r *Result) miss(format string, args ...any) {
	r.Slow = append(r.Slow, fmt.Errorf(format, args...))
}

// errSlow marks an error of a check that belongs to Slow.
var errSlow = errors.New("perhaps the machine is busy")

// judge compares what came with what was expected.
func (r *Result) judge() {
	e := r.Scenario.Expect
	// The log sees calls, not moments: at either end of a window every node can have
	// one call that reaches across it, and was in it or not.
	across := 2 * float64(r.Scenario.Nodes)
	if r.Worst.Low > r.Bound+r.Slack || r.Worst.High > r.Bound+r.Slack+across {
		r.fail("O is %s, above the bound of %.0f (%s)", r.O(), r.Bound, r.Rule)
	}
	if e.Reach > 0 && r.Worst.Low < e.Reach*r.Bound {
		r.miss("O is %s, below %.2f of the bound of %.0f: the load does not try hard enough, or less is admitted than could be", r.O(), e.Reach, r.Bound)
	}
	switch ratio := r.Ratio(); {
	case ratio < e.Admitted/2:
		r.fail("%.3f of the budget was admitted, less than half of %.3f", ratio, e.Admitted)
	case ratio < e.Admitted:
		r.miss("%.3f of the budget was admitted, less than %.3f", ratio, e.Admitted)
	}
	slowest := e.Slowest
	if slowest == 0 {
		slowest = 20 * time.Millisecond
	}
	if r.P999 > slowest+r.Stalled {
		r.miss("the slowest of a thousand decisions took %v, more than %v", r.P999, slowest)
	}
}

// account checks that the nodes told Redis of every token, no more and no less: after
// Close nothing is left to tell. What was granted while Redis was away is not all told.
func (r *Result) account(killed int) {
	if r.Scenario.Mode != Credit || killed > 0 {
		return
	}
	var charged, granted, forgiven uint64
	for _, report := range r.Reports {
		charged += report.Stats.Charged
		granted += report.Stats.Granted
		forgiven += report.Stats.Forgiven
	}
	if granted == 0 && charged != uint64(r.Admitted) {
		r.fail("%d tokens were admitted, and Redis was told of %d", r.Admitted, charged)
	}
	if forgiven > 0 {
		r.fail("Redis forgave %d millionths of a token, and should never have to", forgiven)
	}
}

// O is the measured over-admission in words: one figure, or what surely and what
// possibly was.
func (r *Result) O() string {
	low, high := math.Ceil(max(0, r.Worst.Low-0.05)), math.Ceil(max(0, r.Worst.High-0.05))
	if low == high {
		return fmt.Sprintf("%.0f", high)
	}
	return fmt.Sprintf("%.0f-%.0f", low, high)
}
