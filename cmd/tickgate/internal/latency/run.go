package latency

import (
	"context"
	"runtime"

	"github.com/tickgate/tickgate/clock"
)

// Run measures what o asks for. For every path it takes twice o.Duration and a
// little more, and the memory of the gate, about 200 bytes a key, for as long as it
// runs. It keeps one CPU busy all the time. When ctx is done it stops and returns
// the paths that are complete, with the error of ctx.
func Run(ctx context.Context, o Options) (Report, error) {
	if err := o.Check(); err != nil {
		return Report{}, err
	}
	if o.Clock == nil {
		o.Clock = clock.Default()
	}
	if o.CPU != nil {
		unpin, err := pin(*o.CPU)
		if err != nil {
			return Report{}, err
		}
		defer unpin()
	}
	rig, err := newRig(o)
	if err != nil {
		return Report{}, err
	}
	defer rig.release()

	m := &meter{loop: loop{clock: o.Clock, rate: o.Rate}, duration: o.Duration, collections: collections}
	allocs := make([]int64, len(rig.paths))
	for i := range rig.paths { // before the load, whose allocations would be counted
		if allocs[i], err = m.allocs(&rig.paths[i]); err != nil {
			return Report{}, err
		}
	}
	if o.GCLoad {
		defer startLoad()()
	} else {
		runtime.GC() // what making the gates left behind
	}
	r := Report{wanted: o.Keys}
	for i := range rig.paths {
		if o.Progress != nil {
			o.Progress(i, len(rig.paths))
		}
		s, err := m.measure(ctx, &rig.paths[i])
		if err != nil {
			return Report{}, err
		}
		if ctx.Err() != nil {
			break
		}
		s.allocs = allocs[i]
		r.Paths = append(r.Paths, s.describe(&rig.paths[i]))
	}
	r.Settings = settings(&o, rig.live())
	r.finish()
	return r, ctx.Err()
}

// live returns how many of the keys that were put in the gate holds: not counted
// are those of the two handles.
func (r *rig) live() int { return r.gate.Stats().Size - 2 }

// finish derives what follows from the paths.
func (r *Report) finish() {
	for i := range r.Paths {
		n := r.Paths[i].OverheadNS
		if i == 0 || n < r.OverheadLeastNS {
			r.OverheadLeastNS = n
		}
		r.OverheadMostNS = max(r.OverheadMostNS, n)
	}
	r.Targets = judge(r.Paths, r.Settings.Rate)
	r.Notes = r.notes()
}
