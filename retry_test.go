package tickgate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// requireExact takes until it is denied and then asks at one nanosecond before
// what it was told, and at what it was told.
func requireExact(t *testing.T, c *clock.Manual, take func(clock.Time, int64) tickgate.Decision, n int64, late time.Duration) {
	t.Helper()
	for {
		asked := c.Now().Add(-late)
		d := take(asked, n)
		if d.Allowed {
			require.Zero(t, d.RetryAfter)
			continue
		}
		require.Equal(t, tickgate.Limited, d.Reason)
		require.Positive(t, d.RetryAfter)
		at := asked.Add(d.RetryAfter)
		early := take(at-1, n)
		require.False(t, early.Allowed, "passed a nanosecond early")
		if late == 0 {
			// Of a nanosecond; a caller who was late has moved the key's time on by now.
			require.Equal(t, time.Duration(1), early.RetryAfter)
		}
		c.Set(max(at, c.Now()))
		require.True(t, take(at, n).Allowed, "denied at %v as told", d.RetryAfter)
		return
	}
}

func TestG8RetryExact(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	rates := exactRates
	for range scaled(200, 40) {
		rates = append(rates, randomRate(r))
	}
	for _, l := range rates {
		g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
		h := handleOf(t, g, "handled")
		byName := func(at clock.Time, n int64) tickgate.Decision { return g.TakeAt(at, "keyed", endpoint, n) }
		for range 8 {
			n := 1 + r.Int64N(l.Capacity())
			requireExact(t, c, byName, n, 0)
			requireExact(t, c, h.TakeAt, n, 0)
			c.Advance(time.Duration(1 + r.Int64N(int64(l.Per))))
		}
	}
}

func TestG8RetryExactForSeveralLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range scaled(200, 40) {
		p := policy.Policy{Endpoint: endpoint}
		most := int64(1 << 62)
		for i := range 2 + r.IntN(7) {
			l := exactRates[r.IntN(len(exactRates))]
			l.Name = string(rune('a' + i))
			most = min(most, l.Capacity())
			p.Limits = append(p.Limits, l)
		}
		g, c := gateWith(t, tickgate.Config{}, policy.Set{p})
		h := handleOf(t, g, "handled")
		byName := func(at clock.Time, n int64) tickgate.Decision { return g.TakeAt(at, "keyed", endpoint, n) }
		for range 8 {
			n := 1 + r.Int64N(most)
			requireExact(t, c, byName, n, 0)
			requireExact(t, c, h.TakeAt, n, 0)
			c.Advance(time.Duration(1 + r.Int64N(int64(time.Second))))
		}
	}
}

// A caller who is late is told a wait from its own time.
func TestG8RetryExactForLateCallers(t *testing.T) {
	for _, l := range exactRates {
		for _, late := range []time.Duration{1, time.Microsecond, 65_537, time.Millisecond, time.Second, lateBy} {
			g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
			h := handleOf(t, g, "handled")
			byName := func(at clock.Time, n int64) tickgate.Decision { return g.TakeAt(at, "keyed", endpoint, n) }
			require.True(t, byName(c.Now(), 1).Allowed)
			require.True(t, h.TakeAt(c.Now(), 1).Allowed)
			requireExact(t, c, byName, 1, late)
			requireExact(t, c, h.TakeAt, 1, late)
		}
	}
}

func TestG8RetryNever(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/s burst=5")
	for _, n := range []int64{6, 1 << 40, 1<<63 - 1} {
		d := g.Take("k", endpoint, n)
		require.Equal(t, tickgate.TooCostly, d.Reason)
		require.Equal(t, tickgate.Never, d.RetryAfter)
		require.Equal(t, int64(5), d.Remaining)
	}
	g, _ = gateOf(t, tickgate.Config{}, "deny")
	for _, n := range []int64{0, 1} {
		d := g.Take("k", endpoint, n)
		require.Equal(t, tickgate.TooCostly, d.Reason)
		require.Equal(t, tickgate.Never, d.RetryAfter)
		require.Equal(t, "deny", d.Limit)
	}
}

// ResetAfter is the time until the deciding limit is full, to the nanosecond.
func TestG8RetryResetAfter(t *testing.T) {
	for _, l := range exactRates {
		g, c := gateWith(t, tickgate.Config{}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
		require.Zero(t, g.Take("k", endpoint, 0).ResetAfter)
		d := g.Take("k", endpoint, l.Capacity())
		c.Advance(d.ResetAfter - 1)
		require.Equal(t, time.Duration(1), g.Take("k", endpoint, 0).ResetAfter, "%s", l)
		c.Advance(1)
		require.Zero(t, g.Take("k", endpoint, 0).ResetAfter)
		require.Equal(t, l.Capacity(), left(g, "k"))
	}
}

// After the clock was set back an hour a key that comes in anew, in a table that
// evicted at the old time, gets a retry by the new time.
func TestG8RetryOfNewKeyAfterClockSetBack(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 1}, "10/s burst=1")
	g.Take("a", endpoint, 1)
	c.Advance(time.Minute)
	g.Take("b", endpoint, 1) // evicts a at the old time
	c.Set(0)
	d := g.Take("c", endpoint, 1) // forces b out
	require.True(t, d.Allowed)
	require.LessOrEqual(t, d.ResetAfter, 100*time.Millisecond)
	c.Advance(100 * time.Millisecond)
	require.True(t, g.Allow("c", endpoint))
}
