package tickgate_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// 8 of 10 used, the capacity to 5 leaves 0, and back to 10 leaves 2.
func TestG9ChangeMovesLevelByCapacity(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h name=a")
	h := handleOf(t, g, "k")
	require.True(t, h.AllowAt(0, 8))
	require.NoError(t, g.Apply(setOf(t, "10/h burst=5 name=a")))
	require.Equal(t, int64(0), left(g, "k"))
	require.False(t, h.Allow())
	require.NoError(t, g.Apply(setOf(t, "10/h name=a")))
	require.Equal(t, int64(2), left(g, "k"))
	require.Equal(t, 2, drain(h.Allow))
}

// A limit that was given no name goes by its rate and burst, which the change
// changes: it is the same limit still. Of several, each keeps its place.
func TestG9ChangeOfUnnamedLimits(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	h := handleOf(t, g, "k")
	require.True(t, h.AllowAt(0, 8))
	require.NoError(t, g.Apply(setOf(t, "10/h burst=5")))
	require.Equal(t, int64(0), left(g, "k"))
	require.NoError(t, g.Apply(setOf(t, "10/h")))
	require.Equal(t, int64(2), left(g, "k"))
	require.NoError(t, g.Apply(setOf(t, "1000/d burst=10")))
	require.Equal(t, int64(2), left(g, "k"))

	g, _ = gateOf(t, tickgate.Config{}, "10/h", "100/d", "50/d name=own")
	require.True(t, g.AllowN("k", endpoint, 8))
	require.NoError(t, g.Apply(setOf(t, "20/h", "30/d name=own", "100/d", "11/h name=other")))
	require.Equal(t, int64(11), left(g, "k"), "one with a name of its own is another one")
	require.NoError(t, g.Apply(setOf(t, "20/h")))
	require.Equal(t, int64(12), left(g, "k"))
}

// What is used beyond the new capacity is a debt, paid by time at the new rate.
func TestG9ChangeKeepsDebt(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s name=a")
	h := handleOf(t, g, "k")
	require.True(t, h.AllowAt(c.Now(), 8))
	require.NoError(t, g.Apply(setOf(t, "1/s burst=5 name=a")))
	d := h.Take(1)
	require.False(t, d.Allowed)
	require.Equal(t, 4*time.Second, d.RetryAfter, "3 owed and 1 wanted, at 1/s")
	c.Advance(4*time.Second - 1)
	require.False(t, h.Allow())
	c.Advance(1)
	require.True(t, h.Allow())
}

// A rate goes up or down: what was used stays used, and refills at the new rate
// from the change on.
func TestG9ChangeOfRate(t *testing.T) {
	for _, to := range []string{"1/h", "7/s", "20/s", "1000/s", "1000000/s", "2000000000/s"} {
		g, c := gateOf(t, tickgate.Config{}, "10/s name=a")
		h := handleOf(t, g, "k")
		require.True(t, h.AllowAt(c.Now(), 8))
		next, err := policy.ParseLimit(to + " burst=10 name=a")
		require.NoError(t, err)
		require.NoError(t, g.Apply(setOf(t, next.String())))
		require.Equal(t, int64(2), left(g, "k"), to)
		require.Equal(t, 2, drain(h.Allow))
		wait := time.Duration((int64(next.Per) + next.Tokens - 1) / next.Tokens)
		require.Equal(t, wait, h.Take(1).RetryAfter, to)
		c.Advance(wait)
		require.True(t, h.Allow())
	}
}

// Back and forth a thousand times: nothing refills because of a change.
func TestG9ChangeBackAndForthRefillsNothing(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "2000/s name=a burst=10")
	h := handleOf(t, g, "k")
	require.Equal(t, 10, drain(h.Allow))
	for i := range 300 {
		to := []string{"1/s", "97/s", "1000000/s", "2000000000/s", "1/h", "2000/s"}[i%6]
		require.NoError(t, g.Apply(setOf(t, to+" name=a burst=10")))
		require.False(t, h.Allow(), "change %d to %s refilled the bucket", i, to)
	}
}

// Limits are known by name: one that comes is full, one that goes is forgotten,
// one that stays keeps what was used, wherever it stands in the list.
func TestG9ChangeAddsAndRemovesLimits(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "100/h name=a", "50/h name=b")
	require.True(t, g.AllowN("k", endpoint, 20))
	look := func() (string, int64) {
		d := g.Take("k", endpoint, 0)
		return d.Limit, d.Remaining
	}
	expect := func(limit string, left int64, limits ...string) {
		t.Helper()
		require.NoError(t, g.Apply(setOf(t, limits...)))
		gotLimit, gotLeft := look()
		require.Equal(t, limit, gotLimit)
		require.Equal(t, left, gotLeft)
	}
	expect("b", 30, "50/h name=b", "100/h name=a")
	expect("c", 10, "50/h name=b", "10/h name=c", "100/h name=a")
	require.True(t, g.AllowN("k", endpoint, 10)) // a 30, b 30, c 10
	expect("a", 70, "100/h name=a")
	expect("b", 50, "100/h name=a", "50/h name=b") // b is new again
	expect("", 1<<63-1, "unlimited")
	expect("deny", 0, "deny")
	expect("a", 100, "100/h name=a")
}

// Eight limits, all replaced by eight others, many times.
func TestG9ChangeReplacesAllLimits(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1/h")
	for i := range 50 {
		var limits []string
		for j := range 8 {
			limits = append(limits, fmt.Sprintf("%d/h name=%d-%d", 10+j, i%3, j))
		}
		require.NoError(t, g.Apply(setOf(t, limits...)))
		require.Equal(t, 10, drain(func() bool { return g.Allow("k", endpoint) }), "change %d", i)
		require.True(t, g.Allow(fmt.Sprint("new", i), endpoint))
	}
}

func TestG9ChangeRefusedChangesNothing(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h name=a")
	require.True(t, g.AllowN("k", endpoint, 4))
	before := g.Policies()
	for _, set := range []policy.Set{
		{{Endpoint: endpoint}},
		{{Endpoint: endpoint, Limits: []policy.Limit{{Tokens: 0, Per: time.Second}}}},
		{before[0], before[0]},
		{before[0], {Endpoint: "b", Limits: []policy.Limit{{Tokens: 1, Per: time.Second, Window: 9}}}},
	} {
		require.Error(t, g.Apply(set))
		require.True(t, before.Equal(g.Policies()))
		require.Equal(t, int64(6), left(g, "k"))
		require.Equal(t, tickgate.NoPolicy, g.Take("k", "x", 1).Reason)
	}
}

// Policies come, go and come back. What was used under one that went is there
// when it returns.
func TestG9ChangeOfEndpoints(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	require.True(t, g.AllowN("k", endpoint, 4))
	other := policyOf(t, policy.DefaultEndpoint, "100/h")
	require.NoError(t, g.Apply(policy.Set{other}))
	require.Equal(t, int64(100), left(g, "k"), "default answers for it now")
	require.NoError(t, g.Apply(append(setOf(t, "10/h"), other)))
	require.Equal(t, int64(6), left(g, "k"))
	require.NoError(t, g.Apply(policy.Set{}))
	require.Equal(t, tickgate.NoPolicy, g.Take("k", endpoint, 1).Reason)
	require.Equal(t, tickgate.NoPolicy, g.Take("k", "any", 1).Reason)
}

// The caller's set may change afterwards, and what Policies returns too.
func TestG9ChangeCopiesPolicies(t *testing.T) {
	set := setOf(t, "10/h")
	g, _ := gateWith(t, tickgate.Config{}, set)
	set[0].Limits[0].Tokens = 99
	g.Policies()[0].Limits[0].Tokens = 98
	require.Equal(t, int64(10), g.Policies()[0].Limits[0].Tokens)
	require.Equal(t, int64(10), left(g, "k"))
}

// Rates and capacities change while four goroutines take and the clock stands:
// nothing may pass beyond the largest capacity.
func TestG9ChangeWhileTaking(t *testing.T) {
	for round := range scaled(20, 5) {
		g, c := gateOf(t, tickgate.Config{}, "1000/s name=a burst=200")
		h := handleOf(t, g, "pinned")
		sets := []policy.Set{
			setOf(t, "7/s name=a burst=100"), setOf(t, "2000000000/s name=a burst=200"), setOf(t, "97/s name=a burst=150", "10/s name=b burst=500"),
			setOf(t, "1/h name=a burst=200", "3/s name=c burst=300"), setOf(t, "1000/s name=a burst=200"),
		}
		var admitted [2]atomic.Int64
		together(5, func(i int) {
			if i == 4 {
				for j := range 40 {
					require.NoError(t, g.Apply(sets[(j+round)%len(sets)]))
				}
				return
			}
			for range 2000 {
				if h.AllowAt(c.Now(), 1) {
					admitted[0].Add(1)
				}
				if d := g.Take("by name", endpoint, 1); d.Allowed {
					admitted[1].Add(1)
				}
			}
		})
		for i := range admitted {
			require.LessOrEqual(t, admitted[i].Load(), int64(200))
		}
	}
}

// A key that has all the pins it can have must be converted by Apply too: else
// the second change reads a word of two generations ago in its own units.
func TestG9ChangeConvertsKeyWithAllPins(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1000/s name=a burst=10")
	h, err := g.Handle("k", endpoint)
	require.NoError(t, err)
	for err == nil {
		_, err = g.Handle("k", endpoint)
	}
	require.ErrorIs(t, err, tickgate.ErrFull)
	require.Equal(t, 10, drain(h.Allow))
	require.NoError(t, g.Apply(setOf(t, "2000/s name=a burst=10")))
	require.NoError(t, g.Apply(setOf(t, "1/s name=a burst=10")))
	require.False(t, h.Allow(), "a change of rate refilled the bucket")
}

// Keys come in for the first time while limits come, go and change: each of them
// begins full, once, and no change refills it.
func TestG9ChangeWhileKeysArrive(t *testing.T) {
	const keys = 400
	for round := range scaled(10, 3) {
		sets := []policy.Set{
			setOf(t, "7/s name=a burst=20"), setOf(t, "2000000000/s name=a burst=20", "5/s name=b burst=100"),
			setOf(t, "1/h name=b burst=100", "1/h name=a burst=20"), setOf(t, "100/s name=a burst=20", "1/s name=c burst=99"),
		}
		g, _ := gateWith(t, tickgate.Config{MaxKeys: keys}, sets[0])
		names := keysOf(keys)
		var admitted [keys]atomic.Int64
		var taking atomic.Int64
		taking.Store(4)
		together(5, func(i int) {
			if i == 4 {
				for j := 0; taking.Load() > 0; j++ {
					require.NoError(t, g.Apply(sets[(j+round)%len(sets)]))
				}
				return
			}
			defer taking.Add(-1)
			for k := range keys {
				for range 8 {
					if g.Allow(names[k], endpoint) {
						admitted[k].Add(1)
					}
				}
			}
		})
		require.Zero(t, g.Stats().Evictions)
		for k := range admitted {
			got := admitted[k].Load() + int64(drain(func() bool { return g.Allow(names[k], endpoint) }))
			require.LessOrEqual(t, got, int64(20), "key %d, admitted %d, %+v", k, admitted[k].Load(), g.Stats())
			require.GreaterOrEqual(t, got, int64(19), "key %d lost tokens to changes", k)
		}
	}
}
