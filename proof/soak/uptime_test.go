package main

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const tenYears = 10 * 365 * policy.Day

// classes are the rates from the slowest to the fastest; those with a month of refill
// as capacity, so that nothing is lost between two looks that are less apart.
func classes() (all []policy.Limit) {
	const month = 30
	for _, r := range []struct {
		tokens int64
		per    time.Duration
		aDay   int64
	}{
		{1, policy.Day, 1},
		{100, time.Hour, 2400},
		{7, time.Second, 7 * 86400},
		{700, time.Minute, 700 * 1440},
		{997, time.Second, 997 * 86400}, // rounded
		{20_000, time.Second, 20_000 * 86400},
		{3_000_000, time.Second, 3_000_000 * 86400},
		{987_654_321, time.Second, 987_654_321 * 86400}, // rounded
		{1_000_000_000, time.Second, 1_000_000_000 * 86400},
		{2_000_000_000, time.Second, 2_000_000_000 * 86400},
	} {
		all = append(all, policy.Limit{Name: "l", Tokens: r.tokens, Per: r.per, Burst: r.aDay*month + 1})
	}
	return all
}

// Ten years in which whoever looks takes all there is: by then capacity + rate × time have
// been admitted, to the token, for a key that is held, and for one that is not and owes,
// while strangers come and go. The policy changes between two capacities all the while.
func TestTenYearsOfUptime(t *testing.T) {
	for i, l := range classes() {
		t.Run(l.String(), func(t *testing.T) {
			compiled, err := bucket.New(l.Tokens, int64(l.Per), l.Burst)
			require.NoError(t, err)
			q, c := compiled.Rate()
			r := rand.New(rand.NewPCG(12, uint64(i)))
			clk := clock.NewManual(clock.Time(time.Hour))
			start := clk.Now()
			other := l
			other.Burst--
			set := func(l policy.Limit) policy.Set { return policy.Set{{Endpoint: "e", Limits: []policy.Limit{l}}} }
			g, err := tickgate.New(tickgate.Config{MaxKeys: 3, Clock: clk, Policies: set(l)})
			require.NoError(t, err)
			h, err := g.Handle("held", "e")
			require.NoError(t, err)
			taken, looks := [2]int64{}, 0
			for clk.Now().Sub(start) < tenYears {
				for k, take := range []func(n int64) tickgate.Decision{h.Take, func(n int64) tickgate.Decision { return g.Take("named", "e", n) }} {
					left := take(0).Remaining
					if left > 0 {
						require.True(t, take(left).Allowed)
					}
					if left < l.Burst-1 {
						require.False(t, take(1).Allowed)
					}
					taken[k] += left
					due := new(big.Int).Mul(big.NewInt(int64(clk.Now()-start)), big.NewInt(q))
					due.Quo(due, big.NewInt(c))
					require.Equal(t, due.Int64()+l.Burst, taken[k], "key %d after %v", k, clk.Now().Sub(start))
				}
				if looks++; looks%8 == 0 {
					require.NoError(t, g.Apply(set(other)))
					require.NoError(t, g.Apply(set(l)))
				}
				clk.Advance(min(time.Duration(1+r.Int64N(1<<(10+r.IntN(43)))), 29*policy.Day))
				if looks%4 == 0 {
					stranger, err := g.Handle(fmt.Sprint("stranger-", looks), "e")
					require.NoError(t, err)
					stranger.Release()
				}
			}
			require.Greater(t, looks, 500)
			require.Zero(t, g.Stats().Evictions.Forced)
		})
	}
}

// Limits that count in windows, for ten years: never more than the window's tokens in
// one, and all of them in each that somebody looks at.
func TestTenYearsOfWindows(t *testing.T) {
	for _, window := range []policy.Window{policy.Aligned, policy.FromFirst, policy.Rolling} {
		for _, per := range []time.Duration{time.Second, time.Minute, policy.Day} {
			l := policy.Limit{Tokens: 100, Per: per, Window: window}
			t.Run(l.String(), func(t *testing.T) {
				r := rand.New(rand.NewPCG(13, uint64(per)))
				clk := clock.NewManual(clock.Time(time.Hour))
				g, err := tickgate.New(tickgate.Config{
					MaxKeys: 4, Clock: clk, Wall: clock.NewManualWall(0),
					Policies: policy.Set{{Endpoint: "e", Limits: []policy.Limit{l}}},
				})
				require.NoError(t, err)
				h, err := g.Handle("held", "e")
				require.NoError(t, err)
				looks := 0
				for start := clk.Now(); clk.Now().Sub(start) < tenYears; looks++ {
					// In a window of its own: all are there, and then none until it is over.
					n := 1 + r.Int64N(99)
					require.True(t, h.Take(n).Allowed)
					require.True(t, h.Take(100-n).Allowed, "after %v", clk.Now().Sub(start))
					d := h.Take(1)
					require.Equal(t, tickgate.Limited, d.Reason)
					require.Positive(t, d.RetryAfter)
					require.LessOrEqual(t, d.RetryAfter, per+per/64)
					clk.Advance(d.RetryAfter - 1)
					require.False(t, h.Take(1).Allowed)
					clk.Advance(1)
					require.True(t, h.Take(1).Allowed)
					// On to where a window has not begun yet, a day to months later.
					clk.Advance(2*per + time.Duration(r.Int64N(int64(20*policy.Day))))
				}
				require.Greater(t, looks, 200)
			})
		}
	}
}
