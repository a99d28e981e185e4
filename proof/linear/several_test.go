package linear

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// limitsOf are those of the keys that are joined: each is the tightest in turn.
var limitsOf = [len(keys)]policy.Limit{
	{Tokens: 1, Per: 400 * time.Microsecond, Burst: 3},
	{Tokens: 1, Per: 200 * time.Microsecond, Burst: 2},
	{Tokens: 7, Per: 2_800_001, Burst: 5},
}

func severalRig(t *testing.T) *rig {
	var policies []policy.Policy
	for i, k := range keys {
		policies = append(policies, policy.Policy{Endpoint: k.endpoint, Limits: limitsOf[i : i+1]})
	}
	r := rigWith(t, 100*time.Microsecond, len(keys)+3, policies...)
	r.clock.calls = nil // a stall in the middle of a roll-back would lose the other ones
	return r
}

// joint is a group and the numbers of its keys, in the order of Join.
type joint struct {
	tickgate.Group
	of      []int
	handles []tickgate.Handle
}

// join joins two or three keys in any order, of handles of its own.
func (c *caller) join() (g joint, ok bool) {
	g.of = c.rand.Perm(len(keys))[:2+c.rand.IntN(len(keys)-1)]
	for _, k := range g.of {
		h, err := c.gate.Handle(keys[k].apikey, keys[k].endpoint)
		if err != nil {
			c.full.Store(true)
			g.release()
			return g, false
		}
		g.handles = append(g.handles, h)
	}
	var err error
	g.Group, err = tickgate.Join(g.handles...)
	require.NoError(c.t, err)
	return g, true
}

func (g joint) release() {
	for _, h := range g.handles {
		h.Release()
	}
}

// takeSeveral takes from all keys of a group, and records what that means for each.
func (c *caller) takeSeveral(g joint, explained bool) {
	n := c.rand.Int64N(2) + 1
	each := make([]int64, len(g.of))
	for i := range each {
		each[i] = n
	}
	var d tickgate.Decision
	whole := c.record(&op{kind: ghost, n: n}, func(o *op) {
		switch {
		case !explained:
			d.Allowed = g.AllowAt(clock.Time(o.begun), n)
		case c.rand.IntN(2) == 0:
			each[c.rand.IntN(len(each))] = 3 - n
			d = g.TakeEachAt(clock.Time(o.begun), each...)
		default:
			d = g.TakeAt(clock.Time(o.begun), n)
		}
	})
	c.ops = c.ops[:len(c.ops)-1]
	for i, k := range g.of {
		o := *whole
		o.key, o.n, o.now, o.several, o.plain = k, each[i], whole.begun, true, true
		o.got = answerOf(d)
		switch {
		case d.Allowed || explained && i == d.Member:
			o.kind = take
			if o.match = atLeast; !explained {
				o.match = vaguely
			} else if i == d.Member {
				o.match = exactly
			}
		}
		c.ops = append(c.ops, &o)
	}
	if d.Allowed && explained && c.rand.IntN(4) == 0 {
		c.returnSeveral(g, d, whole, each)
	}
}

// returnSeveral gives back what a group took.
func (c *caller) returnSeveral(g joint, d tickgate.Decision, taken *op, each []int64) {
	whole := c.record(&op{kind: returns, of: taken.id, at: taken.begun}, func(o *op) { g.Refund(d) })
	c.ops = c.ops[:len(c.ops)-1]
	for i, k := range g.of {
		o := *whole
		o.key, o.n = k, each[i]
		c.ops = append(c.ops, &o)
	}
}

// takeOf takes from one of the keys by the gate.
func (c *caller) takeOf(k int, n int64) {
	o := &op{kind: take, key: k, n: n, plain: true}
	c.record(o, func(o *op) {
		d := c.gate.TakeAt(clock.Time(o.now), keys[k].apikey, keys[k].endpoint, n)
		if d.Reason == tickgate.Full {
			c.full.Store(true)
		}
		o.got = answerOf(d)
	})
}

// ofKey is the history of one key.
func ofKey(k int, ops []*op) (own []*op) {
	for _, o := range ops {
		if o.key == k {
			own = append(own, o)
		}
	}
	return finish(own)
}

// Takes by two and three keys: all or nothing. For each key the history is one of a
// bucket from which calls of one key take too; a denial leaves no trace.
//
// Two that give back on one key at a time may lose what one of them gives (takes do not
// wait); that is a rare history, and it must fit if it is taken into account.
func TestSeveral(t *testing.T) {
	allowed, denied, lost := 0, 0, 0
	rounds(t, few, func(seed uint64) uint64 {
		r := severalRig(t)
		ops := r.stages(seed, 12, 8, func(c *caller, stage int) {
			for range 2 {
				c.pass(1)
				if c.rand.IntN(3) == 0 {
					c.takeOf(c.rand.IntN(len(keys)), c.rand.Int64N(2)+1)
					continue
				}
				if g, ok := c.join(); ok {
					for range 1 + c.rand.IntN(2) {
						c.takeSeveral(g, c.rand.IntN(3) > 0)
					}
					g.release()
				}
			}
			if stage%3 == 2 { // what was left
				c.takeOf(c.by%len(keys), 0)
			}
		})
		if unjudged := r.unjudged(); unjudged > 0 {
			return unjudged
		}
		loss := false
		for k, l := range limitsOf {
			m := &spec{limit: limit{l.Tokens, int64(l.Per), l.Burst}, tick: r.tick, grain: grain}
			own := ofKey(k, ops)
			for _, o := range own {
				switch {
				case o.several && o.got.allowed:
					allowed++
				case o.several:
					denied++
				}
			}
			if m.check(own) == porcupine.Ok {
				continue
			}
			if m.lossy = true; m.check(own) == porcupine.Ok {
				loss = true
				continue
			}
			m.lossy = false
			requireLinearizable(t, m, own, r.start)
		}
		if loss {
			lost++
		}
		return 0
	})
	t.Logf("allowed %d, denied %d, histories with something lost %d", allowed, denied, lost)
	require.Greater(t, allowed, few)
	require.Greater(t, denied, few)
	require.LessOrEqual(t, lost, 1+few/10, "histories in which a denial left a trace")
}

// The same while the clock runs, also during calls: no key admits too much.
func TestSeveralNeverOverAdmit(t *testing.T) {
	rounds(t, few, func(seed uint64) uint64 {
		r := severalRig(t)
		ops := r.run(seed, func(c *caller) {
			for range 15 {
				c.pass(4)
				if c.rand.IntN(3) == 0 {
					c.takeOf(c.rand.IntN(len(keys)), 1)
				} else if g, ok := c.join(); ok {
					c.takeSeveral(g, c.rand.IntN(2) == 0)
					g.release()
				}
			}
		})
		if unjudged := r.unjudged(); unjudged > 0 {
			return unjudged
		}
		for k, l := range limitsOf {
			own := ofKey(k, ops)
			for _, o := range own {
				o.refunded = slices.ContainsFunc(own, func(p *op) bool { return p.kind == returns && p.of == o.id })
			}
			require.Equal(t, porcupine.Ok, admits([]limit{{l.Tokens, int64(l.Per), l.Burst}}, 0, own), text(own, r.start))
		}
		return 0
	})
}
