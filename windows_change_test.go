package tickgate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

var everyWindow = []string{"", " aligned", " from-first", " rolling"}

// 8 of 10 used, the capacity to 5 leaves 0, and back to 10 leaves 2, whatever kind it
// is and whatever comes in between.
func TestG9ChangeMovesLevelOfEveryKind(t *testing.T) {
	for _, kind := range everyWindow {
		for _, between := range []string{"5/h", "1/h", "8/h", "7/h reserve=3"} {
			g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h name=a"+kind)
			h := handleOf(t, g, "k")
			require.True(t, h.AllowAt(c.Now(), 8))
			require.NoError(t, g.Apply(setOf(t, between+" name=a"+kind)))
			require.Zero(t, h.Take(0).Remaining, "%s%s", between, kind)
			require.False(t, h.Allow())
			require.False(t, g.Allow("k", endpoint))
			require.NoError(t, g.Apply(setOf(t, "10/h name=a"+kind)))
			require.Equal(t, int64(2), h.Take(0).Remaining, "10/h%s by way of %s", kind, between)
			require.Equal(t, 2, drain(h.Allow))
		}
	}
}

// From one kind to another, in tokens, what was used stays used.
func TestG9ChangeOfKind(t *testing.T) {
	for _, from := range everyWindow {
		for _, to := range everyWindow {
			for _, per := range []string{"h", "m", "d"} {
				g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h name=a"+from)
				h := handleOf(t, g, "k")
				require.True(t, h.AllowAt(c.Now(), 8))
				require.True(t, g.AllowN("by name", endpoint, 3))
				require.NoError(t, g.Apply(setOf(t, fmt.Sprintf("10/%s name=a%s", per, to))))
				require.Equal(t, int64(2), h.Take(0).Remaining, "from%s to%s /%s", from, to, per)
				require.Equal(t, int64(7), left(g, "by name"))
				require.NoError(t, g.Apply(setOf(t, fmt.Sprintf("20/%s name=a%s", per, to))))
				require.Equal(t, int64(12), h.Take(0).Remaining, "from%s to%s /%s", from, to, per)
				require.NoError(t, g.Apply(setOf(t, "10/h name=a"+from)))
				require.Equal(t, int64(2), h.Take(0).Remaining, "there and back from%s to%s /%s", from, to, per)
			}
		}
	}
}

// Nothing refills because of a change of the period, however long ago it was used.
func TestG9ChangeOfPeriodRefillsNothing(t *testing.T) {
	for _, kind := range everyWindow {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/d name=a"+kind)
		h := handleOf(t, g, "k")
		require.True(t, h.AllowAt(c.Now(), 10))
		c.Advance(time.Minute)
		require.Zero(t, h.Take(0).Remaining)
		require.NoError(t, g.Apply(setOf(t, "10/s name=a"+kind)))
		require.Zero(t, h.Take(0).Remaining, "%s", kind)
		require.False(t, h.Allow())
	}
}

// A debt stays a debt, at least as far as to fill the new limit.
func TestG9ChangeOfKindKeepsDebt(t *testing.T) {
	for _, from := range everyWindow {
		for _, to := range everyWindow {
			g, _ := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "10/h name=a"+from)
			h := handleOf(t, g, "k")
			h.Charge(10)
			h.Charge(10)
			require.NoError(t, g.Apply(setOf(t, "10/h name=a"+to)))
			require.False(t, h.Allow(), "from%s to%s", from, to)
			require.Zero(t, h.Take(0).Remaining)
		}
	}
}

// What was taken and given back is there again, as often as one likes: an order that
// is turned down and refunded costs nothing.
func TestRefundAgainAndAgain(t *testing.T) {
	for _, kind := range everyWindow {
		for _, kept := range []int64{0, 1, 4} {
			for _, n := range []int64{1, 5, 10 - kept} {
				_, c, h := syncedGate(t, "10/h"+kind)
				require.True(t, h.TakeAt(c.Now(), kept).Allowed)
				for i := range 500 {
					d := h.TakeAt(c.Now(), n)
					require.True(t, d.Allowed, "%s, %d at a time beside %d: denied after %d were given back, with %d left", kind, n, kept, i, d.Remaining)
					h.Refund(d)
					if i%100 == 0 {
						c.Advance(time.Millisecond)
					}
				}
				require.Equal(t, 10-kept, h.Take(0).Remaining, "%s, %d at a time", kind, n)
			}
		}
	}
}

// A limit of which all was given back is full: it is not said to fill up later.
func TestResetAfterRefund(t *testing.T) {
	for _, kind := range everyWindow {
		_, _, h := syncedGate(t, "10/h"+kind)
		h.Refund(h.Take(5))
		d := h.Take(0)
		require.Equal(t, int64(10), d.Remaining)
		require.Zero(t, d.ResetAfter, "%s", kind)
	}
}
