package tickgate_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

type cost = tickgate.Cost

// costly is a gate under three limits of different kinds, and what is left of each
// by its name.
func costly(t testing.TB) (*tickgate.Gate, *clock.Manual, tickgate.Handle, func() map[string]int64) {
	g, c, h := syncedGate(t, "100/h name=orders", "1000/h aligned name=weight", "50/h rolling name=rolls")
	return g, c, h, func() map[string]int64 {
		left := map[string]int64{}
		for limit, n := range map[string]int64{"orders": 100, "weight": 1000, "rolls": 50} {
			// All of one limit, the others left out: where any is used, it says what is left.
			costs := []cost{{Limit: limit, N: n}}
			for _, other := range []string{"orders", "weight", "rolls"} {
				if other != limit {
					costs = append(costs, cost{Limit: other})
				}
			}
			d := h.TakeCostsAt(c.Now(), 0, costs...)
			if left[limit] = d.Remaining; d.Allowed {
				left[limit] = n
				h.Refund(d)
			}
		}
		return left
	}
}

// A request weighs on each limit what it says, and n where it says nothing.
func TestCostsOfSingleLimits(t *testing.T) {
	g, c, h, left := costly(t)
	d := h.TakeCostsAt(c.Now(), 2, cost{Limit: "weight", N: 40})
	require.True(t, d.Allowed)
	require.Equal(t, map[string]int64{"orders": 98, "weight": 960, "rolls": 48}, left())
	d = h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: 8}, cost{Limit: "orders", N: 3})
	require.True(t, d.Allowed)
	require.Equal(t, "rolls", d.Limit)
	require.Equal(t, int64(40), d.Remaining)
	require.Equal(t, map[string]int64{"orders": 95, "weight": 959, "rolls": 40}, left())
	require.True(t, h.TakeCostsAt(c.Now(), 5).Allowed)
	require.Equal(t, map[string]int64{"orders": 90, "weight": 954, "rolls": 35}, left())
	require.Zero(t, g.Stats().BadRequests)
}

// One limit that lacks the tokens denies for all; none is charged.
func TestCostsAllOrNothing(t *testing.T) {
	_, c, h, left := costly(t)
	require.True(t, h.TakeCostsAt(c.Now(), 0, cost{Limit: "rolls", N: 45}).Allowed)
	d := h.TakeCostsAt(c.Now(), 1, cost{Limit: "weight", N: 500}, cost{Limit: "rolls", N: 6})
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, "rolls", d.Limit)
	require.Equal(t, int64(5), d.Remaining)
	require.Equal(t, time.Hour, d.RetryAfter)
	d = h.TakeCostsAt(c.Now(), 1, cost{Limit: "orders", N: 101}, cost{Limit: "rolls", N: 6})
	require.Equal(t, tickgate.TooCostly, d.Reason)
	require.Equal(t, "orders", d.Limit)
	require.Equal(t, map[string]int64{"orders": 100, "weight": 1000, "rolls": 5}, left())
}

// A cost of 0 leaves a limit out: it neither denies nor is charged, nor is it the one
// that is said to have decided.
func TestCostsOfZeroLeaveALimitOut(t *testing.T) {
	_, c, h, left := costly(t)
	require.True(t, h.TakeCostsAt(c.Now(), 0, cost{Limit: "rolls", N: 50}).Allowed)
	require.False(t, h.TakeAt(c.Now(), 1).Allowed)
	d := h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls"})
	require.True(t, d.Allowed)
	require.Equal(t, map[string]int64{"orders": 99, "weight": 999, "rolls": 0}, left())
	require.Equal(t, "orders", d.Limit, "of those that it was taken from")
	require.Equal(t, int64(99), d.Remaining)
}

// A bad cost denies, is counted, and takes nothing.
func TestCostsRefused(t *testing.T) {
	g, c, h, left := costly(t)
	for i, d := range []tickgate.Decision{
		h.TakeCostsAt(c.Now(), 1, cost{Limit: "none", N: 1}), h.TakeCostsAt(c.Now(), 1, cost{Limit: "", N: 1}),
		h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: -1}), h.TakeCostsAt(c.Now(), -1, cost{Limit: "rolls", N: 1}),
		h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: 1}, cost{Limit: "rolls", N: 1}), h.TakeCostsAt(c.Now(), 0, cost{Limit: "none"}),
		h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: math.MinInt64}),
	} {
		require.Equal(t, tickgate.BadRequest, d.Reason, "%d", i)
		require.Equal(t, tickgate.Never, d.RetryAfter)
	}
	require.Equal(t, uint64(7), g.Stats().BadRequests)
	require.Equal(t, map[string]int64{"orders": 100, "weight": 1000, "rolls": 50}, left())
	for _, n := range []int64{51, 1 << 40, math.MaxInt64} {
		require.Equal(t, tickgate.TooCostly, h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: n}).Reason)
	}
	h.Release()
	require.Equal(t, tickgate.BadRequest, h.TakeCostsAt(c.Now(), 1, cost{Limit: "rolls", N: 1}).Reason)
}

// A limit under a single policy, and one without a name of its own.
func TestCostsOfALoneLimit(t *testing.T) {
	for _, l := range []string{"10/h", "10/h aligned", "10/h from-first", "10/h rolling", "10/h reserve=1 name=x"} {
		g, c, h := syncedGate(t, l)
		name := g.Policies()[0].Limits[0].Label()
		require.True(t, h.TakeCostsAt(c.Now(), 0, cost{Limit: name, N: 3}).Allowed, l)
		require.True(t, h.TakeCostsAt(c.Now(), 100, cost{Limit: name, N: 3}).Allowed, "no limit is asked for the 100")
		require.Equal(t, tickgate.Limited, h.TakeCostsAt(c.Now(), 1, cost{Limit: name, N: 5}).Reason)
		require.Equal(t, h.Take(0).Remaining, h.TakeCostsAt(c.Now(), 0, cost{Limit: name}).Remaining, "a look")
	}
}

// A refund gives each limit back what it was charged.
func TestCostsRefund(t *testing.T) {
	_, c, h, left := costly(t)
	full := left()
	d := h.TakeCostsAt(c.Now(), 2, cost{Limit: "weight", N: 40}, cost{Limit: "rolls"})
	e := h.TakeCostsAt(c.Now(), 1, cost{Limit: "orders", N: 7})
	require.Equal(t, map[string]int64{"orders": 91, "weight": 959, "rolls": 49}, left())
	h.Refund(d)
	require.Equal(t, map[string]int64{"orders": 93, "weight": 999, "rolls": 49}, left())
	h.Refund(e)
	require.Equal(t, full, left())
}

// The reply of a venue corrects the limit that it is about by what was charged there.
func TestCostsSyncUsed(t *testing.T) {
	_, c, h, left := costly(t)
	d := h.TakeCostsAt(c.Now(), 1, cost{Limit: "weight", N: 40})
	h.SyncUsed(d, "weight", 55)
	h.SyncUsed(d, "orders", 1)
	require.Equal(t, map[string]int64{"orders": 99, "weight": 945, "rolls": 49}, left())
	d = h.TakeCostsAt(c.Now(), 1, cost{Limit: "weight"})
	h.SyncUsed(d, "weight", 60) // of the limit that was left out, too
	require.Equal(t, map[string]int64{"orders": 98, "weight": 940, "rolls": 48}, left())
}

// Eight limits, each with a cost of its own.
func TestCostsOfEightLimits(t *testing.T) {
	var limits []string
	for i, kind := range []string{"", " aligned", " from-first", " rolling", " burst=190", " aligned skew=1s", " from-first skew=1s", " rolling skew=1s"} {
		limits = append(limits, fmt.Sprintf("%d/h%s name=l%d", 100+i, kind, i))
	}
	_, c, h := syncedGate(t, limits...)
	var costs []cost
	for i := range limits {
		costs = append(costs, cost{Limit: fmt.Sprint("l", i), N: int64(10 + 5*i)})
	}
	d := h.TakeCostsAt(c.Now(), 1, costs...)
	require.True(t, d.Allowed)
	require.Equal(t, "l7", d.Limit)
	require.Equal(t, int64(107-45), d.Remaining)
	costs[7].N = 63
	d = h.TakeCostsAt(c.Now(), 1, costs...)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, "l7", d.Limit)
}
