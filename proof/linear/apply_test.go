package linear

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// plansOf are the limits that an Apply brings: other capacities at one rate; and other
// rates, one that does not divide the others' units among them.
var plansOf = map[string][]policy.Limit{
	"capacities": {
		{Name: label, Tokens: 1, Per: 400 * time.Microsecond, Burst: 3},
		{Name: label, Tokens: 1, Per: 400 * time.Microsecond, Burst: 1},
		{Name: label, Tokens: 1, Per: 400 * time.Microsecond, Burst: 2},
	},
	"rates": {
		{Name: label, Tokens: 1, Per: 400 * time.Microsecond, Burst: 3},
		{Name: label, Tokens: 1, Per: 400 * time.Microsecond, Burst: 1},
		{Name: label, Tokens: 1, Per: 200 * time.Microsecond, Burst: 3},
		{Name: label, Tokens: 7, Per: 2_800_001, Burst: 2},
		{Name: label, Tokens: 1, Per: 800 * time.Microsecond, Burst: 4},
	},
}

// The policy changes while callers take, give back and charge, and the key comes
// and goes: what was used stays used, to the nanosecond, in the terms of the new one.
func TestApplies(t *testing.T) {
	for name, plans := range plansOf {
		t.Run(name, func(t *testing.T) {
			const tick = 100 * time.Microsecond
			m := &spec{tick: int64(tick), grain: grain}
			for _, l := range plans {
				m.plans = append(m.plans, limit{l.Tokens, int64(l.Per), l.Burst})
			}
			stats := coverage{still: true}
			applies := 0
			rounds(t, few, func(seed uint64) uint64 {
				r := rigOf(t, tick, plans[0])
				ops := r.stages(seed, 12, 12, func(c *caller, _ int) {
					if c.by == 0 {
						for range c.rand.IntN(4) {
							c.apply(plans, c.rand.IntN(len(plans)))
						}
						return
					}
					passing(c, 1+c.rand.IntN(2), func(h tickgate.Handle) {
						var mine held
						switch c.rand.IntN(8) {
						case 0:
							c.charge(h, 1)
						case 1:
							c.take(&h, 0, 0)
						case 2:
							c.apply(plans, c.rand.IntN(len(plans)))
						default:
							if d := c.take(&h, 0, 1); d.got.allowed {
								mine = append(mine, d)
							}
						}
						mine.some(c, h)
					})
				})
				unjudged := r.unjudged()
				if unjudged == 0 {
					requireLinearizable(t, m, ops, r.start)
				}
				stats.add(ops, r.gate.Stats().Misses)
				applies += count(ops, publish)
				return unjudged
			})
			stats.require(t, few)
			require.Greater(t, applies, few)
			stats.requireReturns(t)
		})
	}
}

// apply puts a plan into force.
func (c *caller) apply(plans []policy.Limit, plan int) {
	o := c.record(&op{kind: publish, plan: plan}, func(o *op) {
		require.NoError(c.t, c.gate.Apply(c.set(policy.Policy{Endpoint: endpoint, Limits: plans[plan : plan+1]})))
	})
	end := *o
	end.kind = convert
	c.ops = append(c.ops, &end)
}
