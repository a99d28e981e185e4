package tickgate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Faults that users of other limiters reported, each in its smallest case.

// Stale times mint tokens: golang/go #56287, golang/go #71360, tikv/pd #10745.
func TestFaultStaleTimeMintsTokens(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=10")
	h := handleOf(t, g, "handled")
	start := c.Now()
	byName, byHandle := 0, 0
	for i := range 200 {
		at := start.Add(time.Duration((i + 1) % 2 * int(time.Second))) // 1.0, 0.0, 1.0, …
		if g.TakeAt(at, "keyed", endpoint, 1).Allowed {
			byName++
		}
		if h.AllowAt(at, 1) {
			byHandle++
		}
	}
	require.Equal(t, 10, byName)
	require.Equal(t, 10, byHandle)
}

// The clock is set back, and tokens are lost, or callers wait for the old time to
// come again: sethvargo/go-limiter #41, juju/ratelimit, uber-go/ratelimit.
func TestFaultClockSetBack(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "20/s burst=100")
	require.True(t, g.AllowN("k", endpoint, 50))
	c.Advance(-10 * time.Second)
	require.Equal(t, int64(50), left(g, "k"))
	require.True(t, g.AllowN("k", endpoint, 50))
	require.False(t, g.Allow("k", endpoint))

	g, c = gateOf(t, tickgate.Config{}, "10/s burst=1")
	require.True(t, g.Allow("k", endpoint))
	c.Advance(-time.Hour)
	d := g.Take("k", endpoint, 1)
	require.False(t, d.Allowed)
	require.LessOrEqual(t, d.RetryAfter, 100*time.Millisecond)
	c.Advance(100 * time.Millisecond)
	require.True(t, g.Allow("k", endpoint))
}

// Idling earns more than the bucket holds: boinkor-net/governor #249,
// uber-go/ratelimit #119.
func TestFaultFreeCreditAfterIdle(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "5/s burst=5")
	pass := func(calls int) (n int) {
		for range calls {
			if g.Allow("k", endpoint) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 5, pass(6))
	c.Advance(2 * time.Second)
	require.Equal(t, 5, pass(7))
}

// A limit keeps what a denied request took from it before another limit said no:
// symfony/symfony #65796, wso2, milvus-io/milvus #25597.
func TestFaultPartialConsume(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1/h name=user", "10/h name=global")
	passed := 0
	for range 20 {
		if g.Allow("k", endpoint) {
			passed++
		}
	}
	require.Equal(t, 1, passed)
	require.NoError(t, g.Apply(setOf(t, "10/h name=global")))
	require.Equal(t, int64(9), left(g, "k"), "global used 1")

	g, _ = gateOf(t, tickgate.Config{}, "4/h name=hour", "2/m name=minute")
	passed = 0
	for range 6 {
		if g.Allow("k", endpoint) {
			passed++
		}
	}
	require.Equal(t, 2, passed)
	require.NoError(t, g.Apply(setOf(t, "4/h name=hour")))
	require.Equal(t, int64(2), left(g, "k"), "hour used 2")
}

// The wait that is told is too long or too short: JKorf/CryptoExchange.Net #291.
func TestFaultWrongRetryHint(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=5")
	require.True(t, g.AllowN("k", endpoint, 5))
	require.Equal(t, 100*time.Millisecond, g.Take("k", endpoint, 1).RetryAfter)
	c.Advance(100*time.Millisecond - 1)
	require.False(t, g.Allow("k", endpoint))
	c.Advance(1)
	require.True(t, g.Allow("k", endpoint), "exactly at the hint")

	g, c = gateOf(t, tickgate.Config{}, "1/s")
	require.True(t, g.Allow("k", endpoint))
	c.Advance(750 * time.Millisecond)
	require.Equal(t, 250*time.Millisecond, g.Take("k", endpoint, 1).RetryAfter)
	c.Advance(250 * time.Millisecond)
	require.True(t, g.Allow("k", endpoint), "exactly at the hint")
}

// Products overflow and floats lose tokens: bucket4j #51, golang.org/x/time/rate
// with its float64.
func TestFaultOverflowAndPrecision(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1000000/s burst=1000000")
	require.True(t, g.AllowN("k", endpoint, 1_000_000))
	require.False(t, g.Allow("k", endpoint))
	c.Advance(12 * time.Hour)
	require.Equal(t, int64(1_000_000), left(g, "k"))
	require.True(t, g.AllowN("k", endpoint, 1_000_000))
	require.False(t, g.Allow("k", endpoint))

	g, _ = gateOf(t, tickgate.Config{}, fmt.Sprintf("1000000000/s burst=%d", int64(1<<53+1)))
	require.True(t, g.AllowN("k", endpoint, 1<<53-5))
	require.Equal(t, 6, drain(func() bool { return g.Allow("k", endpoint) }))
}

// Bad numbers panic, or admit: golang/go #39984, golang/go #47221,
// golang/go #54082, uber-go/ratelimit #74.
func TestFaultBadConfiguration(t *testing.T) {
	for _, l := range []policy.Limit{
		{Tokens: 0, Per: time.Second, Burst: 1}, {Tokens: -1, Per: time.Second}, {Tokens: 1, Per: 0}, {Tokens: 1, Per: -1},
		{Tokens: 1, Per: time.Second, Burst: -1}, {Tokens: math.MinInt64, Per: math.MinInt64, Burst: math.MinInt64},
		{Tokens: math.MaxInt64, Per: 1}, {Tokens: 1, Per: time.Second, Burst: math.MaxInt64}, {},
	} {
		g, err := tickgate.New(tickgate.Config{Policies: policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}}})
		require.Error(t, err, "%+v", l)
		require.Nil(t, g)
	}
	for _, s := range []string{"NaN/s", "Inf/s", "-1/s", "0/s", "1e30/s", "abc", "", "1/0s", "1.5/s"} {
		_, err := policy.ParseLimit(s)
		require.Error(t, err, "%q", s)
	}
	g, _ := gateOf(t, tickgate.Config{}, "1/h burst=1")
	for _, n := range []int64{-1_000_000, -1, math.MinInt64} {
		require.Equal(t, tickgate.BadRequest, g.Take("k", endpoint, n).Reason)
		require.False(t, g.AllowN("k", endpoint, n))
	}
	require.Equal(t, 1, drain(func() bool { return g.Allow("k", endpoint) }), "a negative cost minted a token")
}

// Twenty callers at once all see room before any of them takes it: hummingbot
// #8461.
func TestFaultCheckThenRecordRace(t *testing.T) {
	for range scaled(200, 40) {
		g, _ := gateOf(t, tickgate.Config{}, "5/10s")
		var passed atomic.Int64
		together(20, func(int) {
			if g.Allow("k", endpoint) {
				passed.Add(1)
			}
		})
		require.Equal(t, int64(5), passed.Load())
	}
}

// Many keys that come and go push a key's state out, and it begins anew: agent-vault
// #94, boinkor-net/governor #171.
func TestFaultKeyChurnForgetsState(t *testing.T) {
	for _, step := range []time.Duration{0, 2500 * time.Nanosecond, time.Millisecond} {
		g, c := gateOf(t, tickgate.Config{MaxKeys: 10_000}, "10/s burst=20")
		require.True(t, g.AllowN("half-used", endpoint, 10))
		names := keysOf(65_536)
		r := rand.New(rand.NewPCG(13, 14))
		start := c.Now()
		for range scaled(200_000, 25_000) {
			if c.Now().Sub(start) < 500*time.Millisecond {
				c.Advance(step)
			}
			g.Allow(names[r.IntN(len(names))], endpoint)
		}
		refilled := int64(c.Now().Sub(start) / (100 * time.Millisecond))
		require.Less(t, refilled, int64(10))
		require.Equal(t, 10+refilled, left(g, "half-used"), "a step of %v", step)
	}
}

// The purge of old keys takes one that owes: sethvargo/go-limiter #57.
func TestFaultPurgeForgivesDebt(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 100}, "10/s")
	h := handleOf(t, g, "debtor")
	h.Charge(100)
	h.Release()
	for i := range 5000 {
		c.Advance(time.Millisecond)
		g.Allow(fmt.Sprint("passer-by ", i), endpoint)
	}
	d := g.Take("debtor", endpoint, 1)
	require.False(t, d.Allowed)
	require.Equal(t, 10*time.Second-5*time.Second-900*time.Millisecond, d.RetryAfter)
	require.NotZero(t, g.Stats().Evictions)
}

// The times of a call are the gate's own, whichever clock it has: none of the
// above depends on a manual one.
func TestFaultNoneWithRealClock(t *testing.T) {
	for _, c := range []clock.Clock{clock.Default(), clock.Runtime()} {
		g, err := tickgate.New(tickgate.Config{Clock: c, Policies: setOf(t, "5/h")})
		require.NoError(t, err)
		require.Equal(t, 5, drain(func() bool { return g.Allow("k", endpoint) }))
		require.Equal(t, 5, drain(func() bool { return g.TakeAt(c.Now()-1, "l", endpoint, 1).Allowed }))
	}
}
