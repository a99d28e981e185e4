package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

// Everything at once: takes by name and by handle, batches, refunds, charges and
// credits that cancel out, looks, changes of the limits, evictions, a running
// clock. Whatever the order, no key gets more than its bound, and at rest the
// gate still decides and its counts add up.
func TestPressureBound(t *testing.T) {
	const keys, perSecond, burst = 12, 1000, 5
	for _, shape := range []struct {
		procs, maxKeys int
		step           time.Duration // largest between two calls
	}{{2, 16, 20 * time.Microsecond}, {8, 16, 20 * time.Microsecond}, {2, 10, 2 * time.Millisecond}, {8, 10, 2 * time.Millisecond}} {
		procs := shape.procs
		t.Run(fmt.Sprintf("procs=%d/max=%d", procs, shape.maxKeys), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			a := setOf(t, fmt.Sprintf("%d/s burst=%d name=a", perSecond, burst))
			b := setOf(t, fmt.Sprintf("%d/s burst=%d name=a", perSecond, burst), "100000/s burst=1000 name=b")
			g, c := gateWith(t, tickgate.Config{MaxKeys: shape.maxKeys}, a)
			start := c.Now()
			var admitted [keys]atomic.Int64
			calls := scaled(30_000, 5000)
			together(8, func(i int) {
				r := rand.New(rand.NewPCG(uint64(i), 20))
				out := make([]tickgate.Decision, 3)
				for j := range calls {
					now := c.Advance(time.Duration(r.Int64N(int64(shape.step))))
					k := r.IntN(keys)
					name := fmt.Sprint("key-", k)
					switch r.IntN(12) {
					case 0:
						if h, err := g.Handle(name, endpoint); err == nil {
							if d := h.TakeAt(now, 1); d.Allowed {
								if r.IntN(2) == 0 {
									h.Refund(d)
								} else {
									admitted[k].Add(1)
								}
							}
							h.Release()
						}
					case 1:
						k2 := (k + 1) % keys
						reqs := []tickgate.Request{{APIKey: name, Endpoint: endpoint, N: 1}, {APIKey: fmt.Sprint("key-", k2), Endpoint: endpoint, N: 2}, {}}
						g.TakeBatch(now, reqs, out)
						if out[0].Allowed {
							admitted[k].Add(1)
						}
						if out[1].Allowed {
							admitted[k2].Add(2)
						}
					case 2:
						g.TakeAt(now, name, endpoint, 0)
					case 3:
						if i == 0 && j%10 == 0 {
							set := a
							if r.IntN(2) == 0 {
								set = b
							}
							if err := g.Apply(set); err != nil {
								t.Error(err)
							}
						}
					default:
						if g.TakeAt(now, name, endpoint, 1).Allowed {
							admitted[k].Add(1)
						}
					}
				}
			})
			s := g.Stats()
			bound := int64(burst) + int64(c.Now().Sub(start))*perSecond/int64(time.Second) + 1
			for k := range admitted {
				// Each forced eviction forgives at most a full bucket, of one key.
				require.LessOrEqual(t, admitted[k].Load(), bound+burst*int64(s.Evictions.Forced), "key %d", k)
			}
			require.LessOrEqual(t, s.Size, shape.maxKeys)
			t.Logf("%+v", s.Evictions)
			c.Advance(time.Hour)
			for k := range keys {
				require.Equal(t, burst, drain(func() bool { return g.Allow(fmt.Sprint("key-", k), endpoint) }))
			}
		})
	}
}
