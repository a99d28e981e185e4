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
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

const year = 365 * policy.Day

// Ten years of use, in jumps from a nanosecond to years: every decision is the
// exact model's, to the token and the nanosecond.
func TestG10LifetimeTenYears(t *testing.T) {
	for i, l := range exactRates {
		t.Run(l.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(8, uint64(i)))
			g, c := gateWith(t, tickgate.Config{MaxKeys: 4}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
			h := handleOf(t, g, "handled")
			model := refmodel.New(l.Tokens, int64(l.Per), l.Capacity())
			end := c.Now().Add(10 * year)
			for calls := 0; c.Now() < end; calls++ {
				c.Advance(time.Duration(1 + r.Int64N(1<<(1+r.IntN(56)))))
				n := 1 + r.Int64N(l.Capacity())
				for _, n := range []int64{n, 1, l.Capacity()} {
					want := model.TakeAt(c.Now(), n)
					requireSame(t, want, g.Take("keyed", endpoint, n))
					requireSame(t, want, h.Take(n))
				}
				require.Less(t, calls, 100_000)
			}
		})
	}
}

// requireSame asserts that the gate decides as the model does.
func requireSame(t testing.TB, want refmodel.Decision, got tickgate.Decision) {
	t.Helper()
	reason := tickgate.Limited
	switch {
	case want.Allowed:
		reason = tickgate.OK
	case want.TooCostly:
		reason = tickgate.TooCostly
	}
	if got.Reason != reason || got.Allowed != want.Allowed || got.Remaining != want.Remaining ||
		got.RetryAfter != want.RetryAfter || got.ResetAfter != want.ResetAfter {
		require.Failf(t, "not as the model decides", "want %+v\ngot  %+v", want, got)
	}
}

// After idling of any length a bucket is full, and no fuller.
func TestG10LifetimeAnyIdleTime(t *testing.T) {
	idles := []time.Duration{year, 2 * year, 3 * year, 10 * year, 37 * year, 73 * year, 100 * year, 146 * year, 147 * year, 290 * year}
	for d := time.Duration(1) << 50; d > 0 && d < 100*year; d *= 2 {
		idles = append(idles, d-1, d, d+1)
	}
	for _, l := range exactRates {
		for _, start := range []clock.Time{0, clock.Time(time.Hour), -clock.Time(100 * year), math.MinInt64} {
			for _, idle := range idles {
				if int64(start) > math.MaxInt64-int64(idle) {
					continue
				}
				g, c := gateWith(t, tickgate.Config{MaxKeys: 4}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
				c.Set(start)
				require.True(t, g.AllowN("k", endpoint, l.Capacity()))
				require.False(t, g.Allow("k", endpoint))
				c.Advance(idle)
				require.Equal(t, l.Capacity(), left(g, "k"), "%s after %v from %d", l, idle, start)
				require.True(t, g.AllowN("k", endpoint, l.Capacity()))
				require.False(t, g.Allow("k", endpoint))
			}
		}
	}
}

// A debt is paid by time alone, however long that is; and the debt that a word can
// hold is not mistaken for a bucket that is full.
func TestG10LifetimeDebtOfAYear(t *testing.T) {
	for _, l := range exactRates {
		g, c := gateWith(t, tickgate.Config{MaxKeys: 4}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
		h := handleOf(t, g, "k")
		h.Charge(math.MaxInt64)
		h.Charge(math.MaxInt64)
		c.Advance(year)
		require.False(t, h.Allow(), "%s: the debt is gone", l)
		c.Advance(100 * year)
		require.Equal(t, l.Capacity(), h.Take(0).Remaining, "%s", l)
	}
}

// A key that nobody asked for in years is full to an evictor too: it goes, and not
// the one that owes.
func TestG10LifetimeIdleKeyGoesBeforeDebt(t *testing.T) {
	for _, l := range exactRates {
		for _, idle := range []time.Duration{year / 2, year, 3 * year, 10 * year, 50 * year, 80 * year, 100 * year} {
			g, c := gateWith(t, tickgate.Config{MaxKeys: 2}, policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}})
			require.True(t, g.Allow("idle", endpoint))
			c.Advance(idle)
			for g.Allow("owes", endpoint) {
			}
			owed := left(g, "owes")
			require.True(t, g.Allow("new", endpoint))
			require.Equal(t, tickgate.Evictions{Idle: 1}, g.Stats().Evictions, "%s after %v", l, idle)
			require.Equal(t, owed, left(g, "owes"))
		}
	}
}

// A change of the limits finds keys that were idle for years full.
func TestG10LifetimeChangeAfterIdle(t *testing.T) {
	for _, idle := range []time.Duration{year / 2, 3 * year, 10 * year, 100 * year} {
		g, c := gateOf(t, tickgate.Config{}, "7/s name=a")
		require.True(t, g.AllowN("k", endpoint, 7))
		c.Advance(idle)
		require.NoError(t, g.Apply(setOf(t, "63/1ms name=a burst=9")))
		require.Equal(t, int64(9), left(g, "k"), fmt.Sprint(idle))
	}
}
