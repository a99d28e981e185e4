package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

var reserved = []string{"10/h reserve=4", "10/h reserve=4 aligned", "10/h reserve=4 aligned skew=1s", "10/h reserve=4 from-first", "10/h reserve=4 rolling"}

// Ordinary calls leave the reserve alone, in every way in; urgent ones may use it up,
// and take what is not reserved as well.
func TestUrgentMayUseTheReserve(t *testing.T) {
	for _, l := range reserved {
		g, c, h := syncedGate(t, l)
		require.Equal(t, int64(6), h.Take(0).Remaining, l)
		require.Equal(t, int64(10), h.TakeUrgentAt(c.Now(), 0).Remaining, l)
		require.True(t, g.AllowN("k", endpoint, 5))
		require.Equal(t, 1, drain(h.Allow))
		require.False(t, g.Allow("k", endpoint))
		require.Equal(t, tickgate.Limited, g.Take("k", endpoint, 1).Reason)
		require.Zero(t, h.Take(0).Remaining)
		d := h.TakeUrgentAt(c.Now(), 3)
		require.True(t, d.Allowed, l)
		require.Equal(t, int64(1), d.Remaining)
		require.Equal(t, tickgate.Limited, h.TakeUrgentAt(c.Now(), 2).Reason)
		require.True(t, h.TakeUrgentAt(c.Now(), 1).Allowed)
		require.False(t, h.TakeUrgentAt(c.Now(), 1).Allowed)
		h.Refund(d)
		require.False(t, h.Allow(), "what an urgent call took of the reserve goes back to it")
		require.True(t, h.TakeUrgentAt(c.Now(), 3).Allowed)
	}
}

// What can never pass as an ordinary call may pass as an urgent one.
func TestUrgentTooCostly(t *testing.T) {
	for _, l := range reserved {
		g, c, h := syncedGate(t, l)
		for _, n := range []int64{7, 10} {
			require.Equal(t, tickgate.TooCostly, h.Take(n).Reason, l)
			require.Equal(t, tickgate.TooCostly, g.Take("k", endpoint, n).Reason)
			require.Equal(t, tickgate.TooCostly, g.Take("new", endpoint, n).Reason)
			require.False(t, g.AllowN("new", endpoint, n))
			require.False(t, h.AllowAt(c.Now(), n))
			require.Equal(t, tickgate.Never, h.Take(n).RetryAfter)
		}
		require.Equal(t, int64(10), h.TakeUrgentAt(c.Now(), 0).Remaining)
		require.Equal(t, tickgate.TooCostly, h.TakeUrgentAt(c.Now(), 11).Reason)
		require.True(t, h.TakeUrgentAt(c.Now(), 10).Allowed)
	}
}

// The waits of both are exact, each its own.
func TestUrgentRetryExact(t *testing.T) {
	limits := []string{"7/s reserve=3", "7/s reserve=3 burst=20", "7/s reserve=3 aligned", "7/s reserve=3 aligned skew=90ms", "7/s reserve=3 from-first", "7/s reserve=3 from-first skew=90ms", "7/s reserve=3 rolling", "7/s reserve=3 rolling skew=90ms"}
	for round := range scaled(300, 60) {
		r := rand.New(rand.NewPCG(61, uint64(round)))
		var own []string
		for i := range 1 + r.IntN(3) {
			own = append(own, limits[r.IntN(len(limits))]+" name="+string(rune('a'+i)))
		}
		_, c, h := syncedGate(t, own...)
		for range 6 {
			for h.TakeUrgentAt(c.Now(), 1+r.Int64N(2)).Allowed {
				c.Advance(time.Duration(r.Int64N(int64(50 * time.Millisecond))))
			}
			n := 1 + r.Int64N(4)
			requireExact(t, c, h.TakeUrgentAt, n, 0)
			requireExact(t, c, h.TakeAt, n, 0)
		}
	}
}

// However many ordinary calls come, as many urgent ones as are reserved pass.
func TestUrgentPassesWhileOthersFlood(t *testing.T) {
	for _, l := range reserved {
		for range scaled(30, 6) {
			_, c, h := syncedGate(t, l)
			var orders, cancels atomic.Int64
			together(4, func(i int) {
				for range 200 {
					if i == 0 {
						if h.TakeUrgentAt(c.Now(), 1).Allowed {
							cancels.Add(1)
						}
					} else if h.Allow() {
						orders.Add(1)
					}
				}
			})
			require.GreaterOrEqual(t, cancels.Load(), int64(4), l)
			require.LessOrEqual(t, orders.Load(), int64(6), l)
			require.Equal(t, int64(10), orders.Load()+cancels.Load(), l)
		}
	}
}

// The reserve is kept in all limits of a policy and all keys of a group.
func TestUrgentInAGroup(t *testing.T) {
	_, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h reserve=2 name=a", "20/h reserve=15 aligned name=b"}, []string{"8/h reserve=1 rolling name=c"})
	j := joinOf(t, hs...)
	d := j.TakeAt(c.Now(), 0)
	require.Equal(t, "b", d.Limit)
	require.Equal(t, int64(5), d.Remaining)
	require.True(t, j.AllowAt(c.Now(), 5))
	require.False(t, j.Allow())
	d = j.TakeUrgentAt(c.Now(), 3)
	require.True(t, d.Allowed)
	require.Equal(t, "c", d.Limit)
	require.Zero(t, d.Remaining)
	require.Equal(t, 1, d.Member)
	require.Equal(t, "c", j.TakeUrgentAt(c.Now(), 1).Limit)
	require.True(t, j.TakeUrgentEachAt(c.Now(), 2, 0).Allowed)
	require.Equal(t, "a", j.TakeUrgentEachAt(c.Now(), 1, 0).Limit)
	require.Equal(t, tickgate.TooCostly, j.TakeUrgentAt(c.Now(), 9).Reason)
}

// More or less is reserved live: what was used stays used.
func TestUrgentReserveChangesLive(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		g, c, h := syncedGate(t, "10/h"+kind+" name=w")
		require.True(t, h.AllowAt(c.Now(), 5))
		for _, reserve := range []int64{3, 5, 9} {
			limit := fmt.Sprint("10/h reserve=", reserve)
			require.NoError(t, g.Apply(setOf(t, limit+kind+" name=w")))
			require.Equal(t, max(0, 5-reserve), h.Take(0).Remaining, "%s%s", limit, kind)
			require.Equal(t, int64(5), h.TakeUrgentAt(c.Now(), 0).Remaining)
			d := h.Take(1)
			require.Equal(t, reserve < 5, d.Allowed)
			h.Refund(d)
		}
		require.NoError(t, g.Apply(setOf(t, "10/h"+kind+" name=w")))
		require.Equal(t, 5, drain(h.Allow))
	}
}

// An urgent call is refused like any other where there is nothing to take from.
func TestUrgentRefused(t *testing.T) {
	g, c, h := syncedGate(t, "10/h")
	require.Equal(t, tickgate.BadRequest, h.TakeUrgentAt(c.Now(), -1).Reason)
	require.Equal(t, tickgate.BadRequest, tickgate.Handle{}.TakeUrgentAt(c.Now(), 1).Reason)
	require.Equal(t, uint64(1), g.Stats().BadRequests)
	require.NoError(t, g.Apply(setOf(t, "deny")))
	require.Equal(t, tickgate.TooCostly, h.TakeUrgentAt(c.Now(), 1).Reason)
	require.NoError(t, g.Apply(setOf(t, "unlimited")))
	require.True(t, h.TakeUrgentAt(c.Now(), 1<<40).Allowed)
	require.NoError(t, g.Apply(policy.Set{}))
	require.Equal(t, tickgate.NoPolicy, h.TakeUrgentAt(c.Now(), 1).Reason)
	h.Release()
	require.Equal(t, tickgate.BadRequest, h.TakeUrgentAt(clock.Time(0), 1).Reason)
}
