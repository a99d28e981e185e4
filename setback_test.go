package tickgate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// A ban is by the gate's clock, also for a key whose time runs ahead of it.
func TestBanAfterTheClockWasSetBack(t *testing.T) {
	for _, first := range []bool{false, true} { // banned before, or after
		c := clock.NewManual(clock.Time(2 * time.Hour))
		g, err := tickgate.New(tickgate.Config{Clock: c, Policies: policy.Set{{Endpoint: "e", Limits: []policy.Limit{{Tokens: 10, Per: time.Second}}}}})
		require.NoError(t, err)
		h, err := g.Handle("k", "e")
		require.NoError(t, err)
		require.True(t, h.Allow())
		if first {
			h.Ban(c.Now().Add(time.Minute))
		}
		c.Set(clock.Time(time.Hour))
		if !first {
			h.Ban(c.Now().Add(time.Minute))
		}
		d := h.Take(1)
		require.Equal(t, tickgate.Banned, d.Reason)
		require.InDelta(t, time.Minute, d.RetryAfter, float64(time.Millisecond))
		c.Advance(59 * time.Second)
		require.Equal(t, tickgate.Banned, h.Take(1).Reason)
		c.Advance(2 * time.Second)
		require.True(t, h.Allow())
	}
}

// So is the end of a lease.
func TestLeaseAfterTheClockWasSetBack(t *testing.T) {
	g, l, c := shared(t, tickgate.Budget{Mode: tickgate.LeaseMode}, "10/s")
	endpoint := g.Policies()[0].Endpoint
	require.False(t, g.Allow("k", endpoint))
	c.Advance(20 * time.Second)
	require.False(t, g.Allow("k", endpoint))
	c.Advance(-15 * time.Second)
	a := only(t, l)
	_, ok := l.Open(a)
	require.True(t, ok)
	require.True(t, l.Settle(a, tickgate.Settlement{Grant: 5, Until: c.Now().Add(time.Second), Done: true}))
	require.True(t, g.Allow("k", endpoint))
	c.Advance(999 * time.Millisecond)
	require.True(t, g.Allow("k", endpoint))
	c.Advance(2 * time.Millisecond)
	require.False(t, g.Allow("k", endpoint))
}

// Keys that nobody asks for any more get full all the same.
func TestEvictionAfterTheClockWasSetBack(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 600}, "1/s burst=10")
	c.Advance(2 * time.Hour)
	for _, k := range keysOf(600) {
		require.True(t, g.AllowN(k, endpoint, 10))
	}
	c.Advance(-time.Hour)
	require.True(t, g.AllowN("first", endpoint, 10))
	require.Equal(t, uint64(1), g.Stats().Evictions.Forced, "all owe ten seconds")
	for i := range 2 {
		c.Advance(4 * time.Second)
		require.True(t, g.AllowN(fmt.Sprint("new ", i), endpoint, 10))
	}
	require.Equal(t, uint64(3), g.Stats().Evictions.Forced, "after eight seconds they still owe two")
	for i := range 300 {
		c.Advance(4 * time.Second)
		require.True(t, g.Allow(fmt.Sprint("newer ", i), endpoint))
	}
	require.Equal(t, uint64(3), g.Stats().Evictions.Forced, "they are full, by the new clock")
}

// What a slot keeps of its last key's counts is not newer than the next key's.
func TestSyncUsedInASlotOfBeforeTheClockWasSetBack(t *testing.T) {
	for _, l := range counting {
		g, c := gateOf(t, tickgate.Config{MaxKeys: 1, Wall: clock.NewManualWall(0)}, l)
		c.Advance(2*time.Hour + 2*time.Second) // past the skew of the window before
		synced := func(key string) {
			h := handleOf(t, g, key)
			h.SyncUsed(h.Take(50), "w", 70)
			require.Equal(t, int64(70), usedOf(g, h), "%s: %s", l, key)
			h.Release()
		}
		for i := range 100 { // so that each slot has had one
			synced(fmt.Sprint("before ", i))
		}
		c.Advance(-time.Hour)
		for i := range 100 {
			synced(fmt.Sprint("after ", i))
		}
		require.Equal(t, uint64(199), g.Stats().Evictions.Forced, l)
	}
}

// Each time that the clock is set back counts anew: how far it was the last time says
// nothing about it.
func TestTheClockWasSetBackTwice(t *testing.T) {
	for _, again := range []time.Duration{11 * time.Second, 61 * time.Second, 90 * time.Second, 119 * time.Second, 2 * time.Minute, 3 * time.Minute} {
		for _, pinned := range []bool{false, true} {
			g, c := gateOf(t, tickgate.Config{}, "1/s burst=100")
			allow := func(n int64) bool { return g.AllowN("k", endpoint, n) }
			if pinned {
				h := handleOf(t, g, "k")
				allow = func(n int64) bool { return h.Take(n).Allowed }
			}
			c.Advance(time.Hour)
			require.True(t, allow(100))
			c.Advance(-2 * time.Minute)
			require.False(t, allow(1))
			c.Advance(10 * time.Minute)
			require.True(t, allow(100))
			c.Advance(-again)
			require.False(t, allow(1), "%v, %v", again, pinned)
			c.Advance(time.Second)
			require.True(t, allow(1))
			require.False(t, allow(1))
		}
	}
}

// A ban holds, and ends, by the gate's clock for a key that an early caller has put
// ahead of it, too.
func TestBanOfAKeyThatIsAhead(t *testing.T) {
	for _, back := range []time.Duration{0, time.Hour} { // the clock was set back before
		for _, limits := range [][]string{{"10/s"}, {"10/s", "100/m rolling"}} {
			g, c := gateOf(t, tickgate.Config{}, limits...)
			c.Advance(2 * time.Hour)
			h := handleOf(t, g, "k")
			require.True(t, h.Allow())
			c.Advance(-back)
			require.True(t, h.Allow())
			require.True(t, h.AllowAt(c.Now().Add(8*time.Second), 1)) // an early caller
			h.Ban(c.Now().Add(5 * time.Second))
			denied := func(wait time.Duration) {
				t.Helper()
				for _, d := range []tickgate.Decision{h.Take(1), g.Take("k", endpoint, 0), h.TakeUrgentAt(c.Now(), 1)} {
					require.Equal(t, tickgate.Banned, d.Reason)
					require.Equal(t, wait, d.RetryAfter)
				}
				u := g.Usage("k")
				require.Equal(t, wait, u[0].BannedFor)
			}
			denied(5 * time.Second)
			c.Advance(4 * time.Second)
			denied(time.Second)
			c.Advance(time.Second)
			require.True(t, h.Allow())
			require.True(t, h.AllowAt(c.Now().Add(9*time.Second), 1))
		}
	}
}

// A banned key stays until its ban is over, and no longer, by its own clock.
func TestEvictionOfBannedKeys(t *testing.T) {
	for _, back := range []time.Duration{0, 50 * time.Minute} {
		for _, asked := range []bool{false, true} { // after the clock was set back
			g, c := gateOf(t, tickgate.Config{MaxKeys: 4}, "10/s")
			c.Advance(time.Hour)
			for _, k := range keysOf(4) {
				require.True(t, g.Allow(k, endpoint))
				h := handleOf(t, g, k)
				h.Ban(c.Now().Add(2 * time.Second))
				h.Release()
			}
			require.Equal(t, tickgate.Full, g.Take("new", endpoint, 1).Reason)
			c.Advance(-back)
			if asked {
				for _, k := range keysOf(4) {
					g.Allow(k, endpoint)
				}
			}
			require.Equal(t, tickgate.Full, g.Take("new", endpoint, 1).Reason)
			c.Advance(3 * time.Second)
			for i := range 100 {
				require.True(t, g.Allow(fmt.Sprint("newer ", i), endpoint), "%v, %v, %d", back, asked, i)
				c.Advance(time.Second)
			}
			require.Zero(t, g.Stats().Evictions.Forced, "%v, %v", back, asked)
		}
	}
}

// An evictor that was descheduled while the clock was set forth has an old time. It must
// not take the keys' clock for set back: their callers would have the jump twice.
func TestG2EvictorWithAnOldTime(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2}, "20/s")
	c.Advance(time.Hour)
	require.True(t, g.AllowN("desk", endpoint, 20))
	require.True(t, g.Allow("other", endpoint))
	c.Advance(-2 * time.Minute)
	require.False(t, g.Allow("desk", endpoint))
	require.False(t, g.AllowN("other", endpoint, 20))
	c.Advance(30 * time.Second)
	old := c.Now()
	c.Advance(26 * time.Second)
	require.True(t, g.AllowN("desk", endpoint, 20), "what is refilled")
	require.True(t, g.TakeAt(old, "new", endpoint, 1).Allowed, "which drops the other")
	require.Zero(t, g.Stats().Evictions.Forced)
	require.False(t, g.Allow("desk", endpoint), "nothing more")
}
