package tickgate_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// A limit that came into force after a take was never charged by it, so the
// refund must not give tokens back there.
func TestG1RefundLeavesLaterLimitsAlone(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/s name=a")
	h, err := g.Handle("k", "order.new")
	require.NoError(t, err)
	d := h.Take(1)
	require.True(t, d.Allowed)
	require.NoError(t, g.Apply(setOf(t, "10/s name=a", "5/s name=b")))
	for range 5 {
		require.True(t, h.Allow())
	}
	h.Refund(d)
	require.False(t, h.Allow(), "limit b admitted 6 of 5 at once")
}

// The same where the limit went and came back under its name.
func TestG1RefundLeavesReturnedLimitAlone(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/s name=a", "5/s name=b")
	h, err := g.Handle("k", "order.new")
	require.NoError(t, err)
	d := h.Take(1)
	require.True(t, d.Allowed)
	require.NoError(t, g.Apply(setOf(t, "10/s name=a")))
	require.NoError(t, g.Apply(setOf(t, "10/s name=a", "5/s name=b")))
	for range 5 {
		require.True(t, h.Allow())
	}
	h.Refund(d)
	require.False(t, h.Allow(), "limit b admitted 6 of 5 at once")
}

// A key that has all the pins it can have must be converted by Apply too: else
// the second change reads a word of two generations ago in its own units.
func TestG9KeyWithAllPinsIsConverted(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1000/s name=a burst=10")
	h, err := g.Handle("k", "order.new")
	require.NoError(t, err)
	for err == nil {
		_, err = g.Handle("k", "order.new")
	}
	require.ErrorIs(t, err, tickgate.ErrFull)
	for range 10 {
		require.True(t, h.Allow())
	}
	require.NoError(t, g.Apply(setOf(t, "2000/s name=a burst=10")))
	require.NoError(t, g.Apply(setOf(t, "1/s name=a burst=10")))
	require.False(t, h.Allow(), "a change of rate refilled the bucket")
}

// A key that was used up to before the clock was set back is full where its own
// time stopped; it goes before one that owes.
func TestG7FullKeyOfOldTimeGoesBeforeDebt(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2}, "10/s")
	g.Take("old", "order.new", 1)
	c.Advance(time.Minute)
	require.False(t, g.Take("old", "order.new", 11).Allowed) // moves the key's time on
	c.Set(0)
	g.Take("owes", "order.new", 10)
	c.Advance(10 * time.Millisecond)
	require.True(t, g.Allow("new", "order.new"))
	require.Zero(t, g.Stats().Evictions.Forced)
	require.False(t, g.Allow("owes", "order.new"))
}

// After the clock was set back an hour a key that comes in anew, in a table that
// evicted at the old time, gets a retry by the new time.
func TestG8RetryOfNewKeyAfterClockSetBack(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 1}, "10/s burst=1")
	g.Take("a", "order.new", 1)
	c.Advance(time.Minute)
	g.Take("b", "order.new", 1) // evicts a at the old time
	c.Set(0)
	d := g.Take("c", "order.new", 1) // forces b out
	require.True(t, d.Allowed)
	require.LessOrEqual(t, d.ResetAfter, 100*time.Millisecond)
	c.Advance(100 * time.Millisecond)
	require.True(t, g.Allow("c", "order.new"))
}

// Eight goroutines bring in the same two keys where there is room for two: nobody
// may be told that the gate is full, and no key dropped.
func TestG7InsertersOfOneKeyDoNotCountTwice(t *testing.T) {
	for range 1000 {
		g, _ := gateOf(t, tickgate.Config{MaxKeys: 2, OnFull: tickgate.RejectNew}, "1000/s")
		var full atomic.Int64
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				<-start
				if g.Take(fmt.Sprint("key", i%2), "order.new", 1).Reason == tickgate.Full {
					full.Add(1)
				}
			}()
		}
		close(start)
		wg.Wait()
		require.Zero(t, full.Load(), "denied as Full with %d of 2 keys held", g.Stats().Size)
	}
}

// A late caller who brings a key in again after it was evicted as full must not be
// dated back: its take would have been refilled already.
func TestG2StaleReturnAfterEvictionMintsNothing(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2}, "10/s")
	old := c.Now()
	drain := func(at clock.Time) (n int) {
		for g.TakeAt(at, "a", "order.new", 1).Allowed {
			n++
		}
		return n
	}
	admitted := drain(old)
	now := c.Advance(time.Second)
	for i := range 4 {
		g.Take(fmt.Sprint("other", i), "order.new", 1)
	}
	admitted += drain(old) + drain(now)
	require.Equal(t, 20, admitted, "10 at once and 10 in the second after")
}
