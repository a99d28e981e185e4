package linear

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

// passing lets a caller use handles of the key for some calls each, and the gate in
// between, so that the key comes and goes.
func passing(c *caller, turns int, use func(h tickgate.Handle)) {
	for range turns {
		c.pass(10)
		if c.rand.IntN(3) == 0 {
			c.take(nil, 0, c.rand.Int64N(2))
			continue
		}
		h, err := c.gate.Handle(key, endpoint)
		if err != nil {
			continue // no room: all others are held
		}
		for range 1 + c.rand.IntN(3) {
			use(h)
			c.pass(2)
		}
		h.Release()
	}
}

// Charges after the fact, into debt, and what is credited, amid takes and refunds.
func TestFeedback(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			var stats coverage
			charges, credits := 0, 0
			rounds(t, few, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				r.most = s.spec().limit.token()
				ops := r.run(seed, func(c *caller) {
					var mine held
					passing(c, 10, func(h tickgate.Handle) {
						switch c.rand.IntN(6) {
						case 0:
							c.charge(h, c.rand.Int64N(2)+1)
						case 1, 2:
							c.credit(h, c.rand.Int64N(2)+1)
						default:
							if d := c.take(&h, 0, 1); d.got.allowed {
								mine = append(mine, d)
							}
						}
						mine.some(c, h)
						mine = nil // another handle may not give it back, or less
					})
				})
				unjudged := r.unjudged()
				if unjudged == 0 {
					requireLinearizable(t, s.spec(), ops, r.start)
				}
				stats.add(ops, r.gate.Stats().Misses)
				charges += count(ops, charge)
				credits += count(ops, credit)
				return unjudged
			})
			stats.require(t, 1)
			stats.requireReturns(t)
			require.Greater(t, charges, few)
			require.Greater(t, credits, few)
		})
	}
}

func count(ops []*op, k kind) (n int) {
	for _, o := range ops {
		if o.kind == k {
			n++
		}
	}
	return n
}

// barred counts answers that a bar gave.
func barred(ops []*op, b bar) (n int) {
	for _, o := range ops {
		if o.kind == take && o.got.bar == b {
			n++
		}
	}
	return n
}

// Bans, which urgent calls meet too, and which time ends. Times as old as another grain
// would blur when a ban ends, so ticks are longer.
func TestBans(t *testing.T) {
	for _, s := range shapes[:3] {
		t.Run(s.name, func(t *testing.T) {
			var stats coverage
			met := 0
			rounds(t, few, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				r.most = s.spec().limit.token()
				ops := r.run(seed, func(c *caller) {
					passing(c, 10, func(h tickgate.Handle) {
						switch c.rand.IntN(8) {
						case 0:
							c.ban(h, c.rand.Int64N(7)-1)
						case 1:
							c.urgent(h, 1)
						default:
							c.take(&h, 0, c.rand.Int64N(2))
						}
					})
				})
				unjudged := r.unjudged()
				if unjudged == 0 {
					requireLinearizable(t, s.spec(), ops, r.start)
				}
				stats.add(ops, r.gate.Stats().Misses)
				met += barred(ops, banned)
				return unjudged
			})
			stats.require(t, 0)
			require.Greater(t, met, few, "calls that met a ban")
			stats.requireReturns(t)
		})
	}
}

// The kill switch, for everybody and for the key, while the key comes and goes. Who
// begins after it is back is denied, also if the key is new; urgent calls pass.
func TestBlocks(t *testing.T) {
	s := shapes[0]
	stats := coverage{still: true}
	met := 0
	rounds(t, few, func(seed uint64) uint64 {
		r := rigOf(t, s.tick, s.limit())
		ops := r.stages(seed, 12, 8, func(c *caller, _ int) {
			if c.by < 2 { // one goroutine each, so that the order is known
				for c.toggle(c.by == 0); c.lift && c.rand.IntN(4) > 0; c.toggle(c.by == 0) {
					c.pass(1) // a block is over soon, as a rule
				}
				return
			}
			passing(c, 1+c.rand.IntN(2), func(h tickgate.Handle) {
				if c.rand.IntN(4) == 0 {
					c.urgent(h, 1)
				} else {
					c.take(&h, 0, c.rand.Int64N(2))
				}
			})
		})
		unjudged := r.unjudged()
		if unjudged == 0 {
			requireLinearizable(t, s.spec(), ops, r.start)
		}
		stats.add(ops, r.gate.Stats().Misses)
		met += barred(ops, blocked)
		return unjudged
	})
	stats.require(t, 0)
	require.Greater(t, met, few, "calls that met a block")
	stats.requireReturns(t)
}

// toggle blocks everybody, or the key, or ends that.
func (c *caller) toggle(all bool) {
	apikey, lift := key, c.lift
	if all {
		apikey = ""
	}
	c.lift = !lift
	c.record(&op{kind: block, all: all, lift: lift}, func(*op) {
		if lift {
			c.gate.Unblock(apikey)
		} else {
			c.gate.Block(apikey)
		}
	})
}

// What a venue counted, told late, twice and out of order, amid takes, charges and
// refunds. One handle for all: another life of the key does not know the count.
func TestVenueCounts(t *testing.T) {
	for _, s := range shapes[:3] {
		t.Run(s.name, func(t *testing.T) {
			synced := 0
			rounds(t, few, func(seed uint64) uint64 {
				r := rigOf(t, s.tick, s.limit())
				h, err := r.gate.Handle(key, endpoint)
				require.NoError(t, err)
				var told [callers]held
				ops := r.stages(seed, 10, 3, func(c *caller, _ int) {
					mine := &told[c.by]
					for range 3 {
						c.pass(1)
						switch k := c.rand.IntN(8); {
						case k < 3:
							if d := c.take(&h, 0, 1); d.got.allowed {
								*mine = append(*mine, d)
							}
						case k == 3:
							c.charge(h, 1)
						case k < 6 && len(*mine) > 0:
							c.sync(h, (*mine)[c.rand.IntN(len(*mine))], c.rand.Int64N(s.burst+2))
						case k == 6 && len(*mine) > 0 && !(*mine)[len(*mine)-1].synced:
							c.refund(h, (*mine)[len(*mine)-1])
							*mine = (*mine)[:len(*mine)-1]
						default:
							c.take(&h, 0, 0)
						}
					}
				})
				requireLinearizable(t, s.spec(), ops, r.start)
				synced += count(ops, venue)
				return 0
			})
			require.Greater(t, synced, few)
		})
	}
}

func (c *caller) sync(h tickgate.Handle, d taken, used int64) {
	d.synced = true
	c.record(&op{kind: venue, of: d.id, used: used}, func(*op) { h.SyncUsed(d.d, label, used) })
}

// label names the limit of the key.
const label = "limit"
