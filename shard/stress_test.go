package shard

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// newTable makes a table with one policy of tokens per per nanoseconds.
func newTable(t testing.TB, o Options, tokens, per, capacity int64) (*Table, *Policy) {
	table, err := New(o)
	require.NoError(t, err)
	return table, table.AddPolicy("order.new", planOf(t, tokens, per, capacity))
}

func planOf(t testing.TB, tokens, per, capacity int64) *bucket.Plan {
	l, err := bucket.New(tokens, per, capacity)
	require.NoError(t, err)
	return (*bucket.Plan)(nil).Next([]bucket.Named{{Name: "rate", Limit: l}}, "", 0)
}

// held returns how many visible slots hold each key; call it at rest.
func (t *Table) held() map[string]int {
	m := map[string]int{}
	for i := range t.slots {
		s := t.slot(i)
		if s.load().visible() {
			m[fmt.Sprint(s.ident.Load(), s.key[0].Load(), s.key[1].Load(), s.key[2].Load())]++
		}
	}
	return m
}

// atRest asserts what must hold when nobody is at work: no key is there twice,
// no slot was left half-written, and the count of keys is right.
func atRest(t *testing.T, table *Table) {
	taken := 0
	for key, n := range table.held() {
		require.Equal(t, 1, n, "slots of key %s", key)
		taken += n
	}
	for i := range table.slots {
		m := table.slot(i).load()
		require.NotEqual(t, private, m.state(), "slot %d was left private", i)
		require.NotEqual(t, closing, m.state(), "slot %d was left closing", i)
	}
	for i := range table.headers {
		require.Zero(t, loadHeader(&table.headers[i]).pending(), "header %d was left pending", i)
	}
	require.Equal(t, taken, table.Len())
	require.LessOrEqual(t, table.Len(), table.Cap())
}

func TestStressNoKeyTwice(t *testing.T) {
	rounds, ops := 6, 20_000
	if testing.Short() || raceEnabled {
		rounds, ops = 2, 4_000
	}
	for _, procs := range []int{1, 2, 4, 8} {
		for _, shape := range []struct{ maxKeys, keys int }{{1, 4}, {3, 8}, {16, 40}, {400, 3000}} {
			t.Run(fmt.Sprintf("procs=%d/max=%d", procs, shape.maxKeys), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				for round := range rounds {
					table, p := newTable(t, Options{MaxKeys: shape.maxKeys}, 1, 1000, 4)
					var now atomic.Int64
					var wg sync.WaitGroup
					for g := range 8 {
						wg.Add(1)
						go func() {
							defer wg.Done()
							r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
							for range ops / 8 {
								k := p.Named(fmt.Sprintf("key-%d", r.IntN(shape.keys)))
								at := clock.Time(now.Add(int64(r.IntN(500))))
								switch r.IntN(16) {
								case 0:
									if pin, v := table.Pin(p, &k, at); v == Allowed {
										var res Result
										if pin.Take(at, &Ask{N: 1}, &res) == Allowed && r.IntN(2) == 0 {
											pin.Refund(Refund{Charged: bucket.Charged{At: res.At, Ahead: res.Ahead, Done: res.Done}, N: 1, Slot: res.Slot, First: res.First, Gen: res.Plan.Gen()}, clock.NewManual(at))
										}
										pin.Release()
									}
								case 1:
									var res Result
									table.Take(p, &k, at, &Ask{}, &res)
								default:
									table.Allow(p, &k, at, 1)
								}
							}
						}()
					}
					wg.Wait()
					atRest(t, table)
				}
			})
		}
	}
}
