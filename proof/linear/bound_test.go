package linear

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// boundsOf are limits that hold each other back in turn: one is used up first
// after a rest, the other one under steady use.
var boundsOf = []struct {
	name   string
	limits []policy.Limit
}{
	{"one", []policy.Limit{{Tokens: 1, Per: 400 * time.Microsecond, Burst: 3}}},
	{"two", []policy.Limit{
		{Tokens: 1, Per: 300 * time.Microsecond, Burst: 2, Name: "fast"},
		{Tokens: 7, Per: 2_800_001, Burst: 5, Name: "slow"},
	}},
}

// Never too much is admitted: to several limits at once, where a denial may be one
// that a single caller would not have met; and to callers whose times are as old
// as they like, where a charge may be made twice. Refunds and evictions included.
func TestNeverOverAdmits(t *testing.T) {
	for _, b := range boundsOf {
		var limits []limit
		for _, l := range b.limits {
			limits = append(limits, limit{l.Tokens, int64(l.Per), l.Burst})
		}
		for name, oldest := range map[string]int64{"": 1, " stale": 30} {
			t.Run(b.name+name, func(t *testing.T) {
				var stats coverage
				rounds(t, histories, func(seed uint64) uint64 {
					r := rigOf(t, 100*time.Microsecond, b.limits...)
					ops := r.run(seed, func(c *caller) {
						for range 20 {
							c.pass(10)
							now := max(r.start, c.now()-c.rand.Int64N(oldest)*r.tick)
							if c.rand.IntN(2) == 0 {
								c.take(nil, now, 1+c.rand.Int64N(2))
								continue
							}
							h, err := r.gate.Handle(key, endpoint)
							if err != nil {
								continue // no room: all others are held
							}
							var mine held
							for range 1 + c.rand.IntN(3) {
								if d := c.take(&h, now, 1); d.got.allowed {
									mine = append(mine, d)
								}
								c.pass(2)
								mine.some(c, h)
							}
							h.Release()
						}
					})
					st := r.gate.Stats()
					if r.unjudged() == 0 {
						require.Equal(t, porcupine.Ok, admits(limits, 0, ops), text(ops, r.start))
					}
					stats.add(ops, st.Misses)
					return r.unjudged()
				})
				stats.require(t, histories)
				require.Positive(t, stats.returns, "returns after an eviction")
			})
		}
	}
}
