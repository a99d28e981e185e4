package linear

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// crowded is a rig whose strangers have the limit of the key, and take.
func crowded(t *testing.T, s shape, maxKeys int) *rig {
	r := rigWith(t, s.tick, maxKeys, policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{s.limit()}})
	r.most = s.spec().limit.token()
	return r
}

// stranger is one of some who use the endpoint as well.
func (c *caller) stranger() string { return strangers[c.rand.IntN(len(strangers))] }

var strangers = [...]string{"neighbour-0", "neighbour-1", "neighbour-2"}

// What strangers take is never taken from the key, nor the other way round, though
// they have the slots in turn, and their buckets are alike.
func TestStrangersTake(t *testing.T) {
	// A token is back at the next tick, when the key may have the stranger's slot.
	s := shape{"quick", 1, 100 * time.Microsecond, 3, 100 * time.Microsecond}
	var stats coverage
	rounds(t, few, func(seed uint64) uint64 {
		r := crowded(t, s, len(strangers)+4)
		ops := r.run(seed, func(c *caller) {
			for range 20 {
				c.pass(4)
				if c.rand.IntN(3) == 0 {
					r.gate.TakeAt(clock.Time(c.now()), c.stranger(), endpoint, 1)
				} else if h, err := r.gate.Handle(key, endpoint); err == nil {
					if c.rand.IntN(3) == 0 {
						c.take(&h, 0, 1)
					}
					c.take(&h, 0, 0)
					h.Release()
				}
			}
		})
		unjudged := r.unjudged()
		if unjudged == 0 {
			requireLinearizable(t, s.spec(), ops, r.start)
		}
		stats.add(ops, r.gate.Stats().Misses)
		return unjudged
	})
	require.Positive(t, stats.allowed)
}

// Decisions of other keys, and of the key before it was evicted, give nothing.
func TestRefundsOfOthers(t *testing.T) {
	for _, s := range shapes[:2] {
		t.Run(s.name, func(t *testing.T) {
			wrong := 0
			rounds(t, few, func(seed uint64) uint64 {
				r := crowded(t, s, len(strangers)+4)
				var given atomic.Int64
				ops := r.run(seed, func(c *caller) {
					for range 15 {
						c.pass(4)
						d := r.gate.TakeAt(clock.Time(c.now()), c.stranger(), endpoint, 1)
						h, err := r.gate.Handle(key, endpoint)
						if err != nil {
							continue
						}
						c.take(&h, 0, 1)
						if d.Allowed {
							h.Refund(d) // not recorded: nothing happens
							given.Add(1)
						}
						c.take(&h, 0, 0)
						h.Release()
					}
				})
				unjudged := r.unjudged()
				if unjudged == 0 {
					requireLinearizable(t, s.spec(), ops, r.start)
				}
				wrong += int(given.Load())
				return unjudged
			})
			require.Greater(t, wrong, few)
		})
	}
}

// A handle is released while another goroutine gives back by it: the gift comes to a slot
// that may be the key's by then, and must not be given to it.
func TestRefundsOfReleasedHandles(t *testing.T) {
	s := shapes[1]
	type loose struct {
		h tickgate.Handle
		d tickgate.Decision
	}
	var stats coverage
	rounds(t, few, func(seed uint64) uint64 {
		r := crowded(t, s, len(strangers)+4)
		var left [callers]atomic.Pointer[loose]
		ops := r.run(seed, func(c *caller) {
			for range 30 {
				switch {
				case c.by < 2: // gives back by handles of others
					if o := left[2+c.rand.IntN(callers-2)].Load(); o != nil {
						o.h.Refund(o.d)
					}
					runtime.Gosched()
				case c.rand.IntN(2) == 0:
					c.pass(3)
					c.take(nil, 0, c.rand.Int64N(2))
				default:
					h, err := r.gate.Handle(c.stranger(), endpoint)
					if err != nil {
						continue
					}
					d := h.TakeAt(clock.Time(c.now()), 1)
					left[c.by].Store(&loose{h, d})
					h.Credit(1) // full again: it may go as soon as it is released
					if c.rand.IntN(2) == 0 {
						runtime.Gosched()
					}
					h.Release()
				}
			}
		})
		unjudged := r.unjudged()
		if unjudged == 0 {
			requireLinearizable(t, s.spec(), ops, r.start)
		}
		stats.add(ops, r.gate.Stats().Misses)
		return unjudged
	})
	require.Positive(t, stats.allowed)
	require.Positive(t, stats.looks)
}
