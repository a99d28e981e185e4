package load

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const (
	endpoint = "order.new"

	// wide is a limit that no machine exhausts: not in the time that a worker tells which
	// the scheduler has kept waiting for a while, either, since a stale time sees less.
	wide = "1000000000/s burst=100000000000"

	// narrow admits one call, which opening the case takes.
	narrow = "1/d burst=1"

	// tick is how far a worker's own time goes on with each call: about as long as the
	// call takes, so that workers that were kept waiting are not taken for a clock that
	// was set back.
	tick = 100 * time.Nanosecond

	// step is how far the time of all workers goes on with each call.
	step = time.Microsecond
)

// policyOf parses a policy. The limits are written here, so a fault is ours.
func policyOf(endpoint string, limits ...string) policy.Policy {
	p := policy.Policy{Endpoint: endpoint}
	for i, text := range limits {
		l, err := policy.ParseLimit(text)
		if err != nil {
			panic(err)
		}
		if l.Name == "" {
			l.Name = fmt.Sprint("limit", i+1)
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

// open makes a gate with one policy for endpoint, and the driver that closes it.
func open(maxKeys int, limits ...string) (*tickgate.Gate, *Driver, error) {
	return openConfig(tickgate.Config{MaxKeys: maxKeys, Policies: policy.Set{policyOf(endpoint, limits...)}})
}

func openConfig(cfg tickgate.Config) (*tickgate.Gate, *Driver, error) {
	g, err := tickgate.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	return g, &Driver{Close: g.Close}, nil
}

// handles makes a handle for each apikey, and has d release them.
func (d *Driver) handles(g *tickgate.Gate, apikeys ...string) ([]tickgate.Handle, error) {
	var hs []tickgate.Handle
	for _, k := range apikeys {
		h, err := g.Handle(k, endpoint)
		if err != nil {
			return nil, err
		}
		hs = append(hs, h)
	}
	rest := d.Close
	d.Close = func() error {
		for _, h := range hs {
			h.Release()
		}
		return rest()
	}
	return hs, nil
}

// names returns n apikeys of 24 bytes, each after the prefix. They are parts of one
// string: every allocation is recorded, which takes its time.
func names(prefix string, n int) []string {
	var all strings.Builder
	size := len(prefix) + 24
	all.Grow(n * size)
	for i := range n {
		fmt.Fprintf(&all, "%sapikey-%017d", prefix, i)
	}
	keys := make([]string, n)
	for i := range keys {
		keys[i] = all.String()[i*size : (i+1)*size]
	}
	return keys
}

// each returns Calls of a driver in which every worker asks for one key after the
// other of the same list, beginning at a place of its own.
func each(workers int, keys []string, allow func(apikey string) bool) func(int) func(int) int {
	return func(worker int) func(int) int {
		i := worker * len(keys) / workers
		return func(n int) (allowed int) {
			for range n {
				if allow(keys[i]) {
					allowed++
				}
				if i++; i == len(keys) {
					i = 0
				}
			}
			return allowed
		}
	}
}

// timed returns Calls of a driver in which every worker tells the time itself. The
// times of different workers are not in step.
func timed(allow func(now clock.Time) bool) func(int) func(int) int {
	start := clock.Default().Now()
	return func(int) func(int) int {
		now := start
		return func(n int) (allowed int) {
			for range n {
				now = now.Add(tick)
				if allow(now) {
					allowed++
				}
			}
			return allowed
		}
	}
}

// stepped is timed with one time for all workers, for limits that admit only just
// what is asked.
func stepped(allow func(now clock.Time) bool) func(int) func(int) int {
	now := new(atomic.Int64)
	now.Store(int64(clock.Default().Now()))
	return func(int) func(int) int {
		return func(n int) (allowed int) {
			for range n {
				if allow(clock.Time(now.Add(int64(step)))) {
					allowed++
				}
			}
			return allowed
		}
	}
}

// handled is a case of a handle of one key under the limits.
func handled(name, path string, want Outcome, allow func(tickgate.Handle, clock.Time) bool, limits ...string) Case {
	return Case{name, path, want, func(int) (*Driver, error) {
		g, d, err := open(0, limits...)
		if err != nil {
			return nil, err
		}
		hs, err := d.handles(g, names("", 1)...)
		if err != nil {
			return nil, err
		}
		call := func(now clock.Time) bool { return allow(hs[0], now) }
		if d.Calls = timed(call); want == Some {
			d.Calls = stepped(call)
		}
		return d, nil
	}}
}

// keyed is a case of a gate that holds so many keys. prepare returns the call.
func keyed(name, path string, want Outcome, keys int, limits []string, prepare func(*tickgate.Gate) (func(apikey string) bool, error)) Case {
	return Case{name, path, want, func(workers int) (*Driver, error) {
		g, d, err := open(2*keys, limits...)
		if err != nil {
			return nil, err
		}
		all := names("", keys)
		for _, k := range all {
			if !g.Allow(k, endpoint) {
				return nil, errors.New("a key's first call was denied")
			}
		}
		allow, err := prepare(g)
		if err != nil {
			return nil, err
		}
		d.Calls = each(workers, all, allow)
		return d, nil
	}}
}
