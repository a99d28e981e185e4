package fleet

import (
	"fmt"
	"time"
)

// grid gives every actor instants of its own. Time is divided into steps; each actor has
// one nanosecond of every step, and acts in no other:
//
//	4·i      node i's loop             4·i + 1   its calls for the budget
//	                                   4·i + 2   its heartbeats
//	4·nodes  the driver
//
// A step divides a tick of the loop (1 ms), so loops stay on theirs by themselves.
type grid struct{ step time.Duration }

// steps are those that divide 100 µs, and so all that is waited for here.
var steps = []time.Duration{1000, 2000, 4000, 5000, 10_000, 20_000, 50_000}

// MaxNodes is the most that the longest step has room for.
const MaxNodes = 12_000

func gridFor(nodes int) (grid, error) {
	for _, s := range steps {
		if 4*nodes < int(s) {
			return grid{s}, nil
		}
	}
	return grid{}, fmt.Errorf("%d nodes: must be 2 to %d", nodes, MaxNodes)
}

// next is the first instant of an actor at or after t.
func (g grid) next(t time.Duration, actor int) time.Duration {
	n := t - t%g.step + time.Duration(actor)
	if n < t {
		n += g.step
	}
	return n
}

// last is the last instant of an actor at or before t.
func (g grid) last(t time.Duration, actor int) time.Duration {
	return g.next(t-g.step+1, actor)
}

// until sleeps until an instant after base.
func until(base time.Time, at time.Duration) { time.Sleep(at - time.Since(base)) }
