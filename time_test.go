package tickgate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// takers are two ways to one bucket: by name and by handle.
func takers(t *testing.T, g *tickgate.Gate) map[string]func(clock.Time) bool {
	h := handleOf(t, g, "handled")
	return map[string]func(clock.Time) bool{
		"gate":   func(at clock.Time) bool { return g.TakeAt(at, "keyed", endpoint, 1).Allowed },
		"handle": func(at clock.Time) bool { return h.AllowAt(at, 1) },
	}
}

func TestG2TimeEqualMintsNothing(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s")
	for name, take := range takers(t, g) {
		require.Equal(t, 10, drain(func() bool { return take(c.Now()) }), name)
		for range 1000 {
			require.False(t, take(c.Now()), name)
		}
	}
}

// Late calls of any lateness between punctual ones: what passes in all is what
// the latest time allows.
func TestG2TimeStaleMintsNothing(t *testing.T) {
	for _, late := range []time.Duration{1, 1000, 65_536, 65_537, time.Millisecond, time.Second, lateBy, 10 * time.Second, time.Minute, time.Hour} {
		g, c := gateOf(t, tickgate.Config{}, "10/s")
		for name, take := range takers(t, g) {
			now, passed := c.Now(), 0
			for range 500 {
				if take(now) {
					passed++
				}
				if take(now.Add(-late)) {
					passed++
				}
			}
			require.Equal(t, 10, passed, "%s, %v late", name, late)
		}
	}
}

// Random times back and forth: whichever way they go, what passes is bounded by
// the ground that the clock made forward, be it new or made a second time after
// the clock was set back.
func TestG2TimeRandomWalkMintsNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for range scaled(200, 30) {
		g, c := gateOf(t, tickgate.Config{}, "10/s")
		for name, take := range takers(t, g) {
			now, forward, passed := c.Now(), time.Duration(0), 0
			for range 300 {
				step := time.Duration(r.Int64N(int64(time.Second))) - 500*time.Millisecond
				if r.IntN(50) == 0 {
					step = -time.Duration(r.Int64N(int64(time.Hour)))
				}
				now = now.Add(step)
				forward += max(step, 0)
				if take(now) {
					passed++
				}
			}
			require.LessOrEqual(t, passed, 10+int(forward/(100*time.Millisecond)), name)
		}
	}
}

// A caller whose clock was set back does not wait for the old time: its next
// token comes within one token's time of the new one.
func TestG2TimeSetBackIsNotWaitedFor(t *testing.T) {
	for _, back := range []time.Duration{10 * time.Second, 11 * time.Second, 15 * time.Second, time.Minute, time.Hour, 24 * 365 * time.Hour} {
		g, c := gateOf(t, tickgate.Config{}, "10/s")
		for name, take := range takers(t, g) {
			c.Set(clock.Time(time.Hour))
			require.Equal(t, 10, drain(func() bool { return take(c.Now()) }), name)
			c.Advance(-back)
			require.False(t, take(c.Now()), "%s: %v back minted", name, back)
			for range 30 {
				c.Advance(100 * time.Millisecond)
				require.True(t, take(c.Now()), "%s: held to the time before, %v back", name, back)
				require.False(t, take(c.Now()), name)
			}
		}
	}
}

// One caller has the old time, one the new: they share one bucket and one rate.
func TestG2TimeOldAndNewClockShareOneRate(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s")
	for name, take := range takers(t, g) {
		now := c.Now()
		passed := drain(func() bool { return take(now) })
		for range 1000 {
			now = now.Add(time.Millisecond)
			for range 2 {
				if take(now) {
					passed++
				}
				if take(now.Add(-time.Hour)) {
					passed++
				}
			}
		}
		require.Equal(t, 20, passed, "%s: 10 at once and 10 in the second after", name)
	}
}

// A late caller is told the wait from its own time, and it is right.
func TestG2TimeLateCallerTakesWhatIsLeft(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s")
	h := handleOf(t, g, "k")
	require.True(t, h.AllowAt(c.Now(), 4))
	late := c.Now().Add(-5 * time.Second)
	d := h.TakeAt(late, 6)
	require.True(t, d.Allowed, "what others left is there for a late caller")
	d = h.TakeAt(late, 1)
	require.False(t, d.Allowed)
	require.Equal(t, 5*time.Second+100*time.Millisecond, d.RetryAfter)
}

// A late caller who brings a key in again after it was evicted as full must not be
// dated back: its take would have been refilled already.
func TestG2TimeStaleReturnAfterEviction(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2}, "10/s")
	old := c.Now()
	drainAt := func(at clock.Time) int {
		return drain(func() bool { return g.TakeAt(at, "a", endpoint, 1).Allowed })
	}
	admitted := drainAt(old)
	now := c.Advance(time.Second)
	for i := range 4 {
		g.Take(fmt.Sprint("other", i), endpoint, 1)
	}
	admitted += drainAt(old) + drainAt(now)
	require.Equal(t, 20, admitted, "10 at once and 10 in the second after")
}

// A clock that was set back, and a caller that asks less often than what tells such
// a clock from lateness: its tokens come back all the same.
func TestG2TimeSetBackSlowCaller(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1/m burst=10")
	now := clock.Time(2 * time.Hour)
	require.True(t, g.TakeAt(now, "k", endpoint, 10).Allowed)
	now -= clock.Time(time.Hour)
	require.False(t, g.TakeAt(now, "k", endpoint, 1).Allowed)
	for i := range 5 {
		now += clock.Time(time.Minute)
		require.True(t, g.TakeAt(now, "k", endpoint, 1).Allowed, "minute %d after the clock was set back", i+1)
		require.False(t, g.TakeAt(now, "k", endpoint, 1).Allowed)
	}
}

// A time at the end of all times, by mistake, makes no limit admit more.
func TestG2OneTimeAtTheEnd(t *testing.T) {
	for limit, capacity := range map[string]int64{"10/s": 10, "10/s aligned": 10, "10/s from-first": 10, "10/s rolling": 10, "2000/s rolling": 2000} {
		for _, end := range []clock.Time{math.MaxInt64, math.MaxInt64 - clock.Time(time.Second)/2, math.MaxInt64 - clock.Time(2*time.Second)} {
			g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, limit)
			c.Advance(time.Hour)
			g.TakeAt(end, "desk", endpoint, 1)
			admitted := int64(0)
			for range 3 {
				c.Advance(time.Minute)
				for range 5000 {
					if g.Allow("desk", endpoint) {
						admitted++
					}
				}
			}
			require.LessOrEqual(t, admitted, 3*capacity, "%s at %d", limit, end)
		}
	}
}
