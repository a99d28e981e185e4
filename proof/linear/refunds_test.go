package linear

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

// held is takes that a caller may still give back.
type held []taken

// some gives back takes at random, or forgets them.
func (held *held) some(c *caller, h tickgate.Handle) {
	for len(*held) > 0 && c.rand.IntN(2) == 0 {
		i := c.rand.IntN(len(*held))
		if c.rand.IntN(4) > 0 {
			c.refund(h, (*held)[i])
		}
		*held = append((*held)[:i:i], (*held)[i+1:]...)
	}
}

// One handle for all: the key stays where it is. Takes by the handle and by the
// gate are given back, at once or later.
func TestRefunds(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			var stats coverage
			rounds(t, histories, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				r.most = s.spec().limit.token()
				h, err := r.gate.Handle(key, endpoint)
				require.NoError(t, err)
				ops := r.run(seed, func(c *caller) {
					var mine held
					for range 20 {
						by := &h
						if c.rand.IntN(3) == 0 {
							by = nil
						}
						d := c.take(by, 0, c.rand.Int64N(3)%(s.burst+1))
						if d.got.allowed && d.n > 0 {
							mine = append(mine, d)
						}
						if c.rand.IntN(2) == 0 {
							c.pass(6)
						}
						mine.some(c, h)
					}
				})
				requireLinearizable(t, s.spec(), ops, r.start)
				stats.add(ops, r.gate.Stats().Misses)
				return 0 // whatever is dropped, the key is pinned
			})
			stats.require(t, histories)
		})
	}
}

// A handle for each take: between them the key comes and goes.
func TestRefundsOfPassingHandles(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			var stats coverage
			rounds(t, histories, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				r.most = s.spec().limit.token()
				ops := r.run(seed, func(c *caller) {
					for range 20 {
						c.pass(10)
						if c.rand.IntN(2) == 0 {
							c.take(nil, 0, c.rand.Int64N(2))
							continue
						}
						h, err := r.gate.Handle(key, endpoint)
						if err != nil {
							continue // no room: all others are held
						}
						var mine held
						for range 1 + c.rand.IntN(3) {
							d := c.take(&h, 0, 1)
							if d.got.allowed {
								mine = append(mine, d)
							}
							c.pass(2)
							mine.some(c, h)
						}
						h.Release()
					}
				})
				unjudged := r.unjudged()
				if unjudged == 0 {
					requireLinearizable(t, s.spec(), ops, r.start)
				}
				stats.add(ops, r.gate.Stats().Misses)
				return unjudged
			})
			stats.require(t, histories)
			require.Positive(t, stats.returns, "returns after an eviction")
		})
	}
}
