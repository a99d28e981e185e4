package tickgate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// The four measurements that the limiter was first asked for, as tests, under the
// default policies. What they cost in time is measured in bench.

const submit = "trading.submit_order" // 100/s

// seedGate is a gate as Config's zero value makes it, but for the clock.
func seedGate(t *testing.T) (*tickgate.Gate, func(time.Duration)) {
	g, c := gateWith(t, tickgate.Config{}, nil)
	require.True(t, policy.Default().Equal(g.Policies()))
	return g, func(d time.Duration) { c.Advance(d) }
}

// A key that is there is a hit, and nothing is allocated for it.
func TestSeedCacheHit(t *testing.T) {
	g, advance := seedGate(t)
	require.True(t, g.Allow("trader", submit))
	require.Equal(t, uint64(1), g.Stats().Misses)
	for range 9999 {
		advance(10 * time.Millisecond)
		require.True(t, g.Allow("trader", submit))
	}
	s := g.Stats()
	require.Equal(t, uint64(1), s.Misses)
	require.Equal(t, uint64(9999), s.Hits)
	require.InDelta(t, 0.9999, s.HitRate, 1e-9)
	require.Zero(t, testing.AllocsPerRun(100, func() { g.Allow("trader", submit) }))
}

// Refill is smooth: each 10 ms bring exactly one token of 100/s, never two.
func TestSeedRefill(t *testing.T) {
	g, advance := seedGate(t)
	require.True(t, g.AllowN("trader", submit, 100))
	for range 10_000 {
		require.False(t, g.Allow("trader", submit))
		advance(10*time.Millisecond - 1)
		require.False(t, g.Allow("trader", submit))
		advance(1)
		require.True(t, g.Allow("trader", submit))
	}
}

// A burst of 100 at once: 100 of 100 pass.
func TestSeedBurstOf100(t *testing.T) {
	g, _ := seedGate(t)
	for i := range 100 {
		require.True(t, g.Allow("trader", submit), "request %d", i+1)
	}
	require.False(t, g.Allow("trader", submit))
}

// 10,000 requests at once against 100/s: 100 are allowed and 9,900 denied.
func TestSeed10000Against100(t *testing.T) {
	g, _ := seedGate(t)
	for range 10_000 {
		g.Allow("trader", submit)
	}
	s := g.Stats()
	require.Equal(t, tickgate.PolicyStats{Endpoint: submit, Allowed: 100, Denied: 9900}, s.Policies[0])
}

// An endpoint that is not listed is under "default".
func TestSeedUnlistedEndpointTakesDefault(t *testing.T) {
	g, _ := seedGate(t)
	require.Equal(t, 50, drain(func() bool { return g.Allow("trader", "any.other") }))
	require.Equal(t, 50, drain(func() bool { return g.Allow("trader", "another") }))
	require.Equal(t, 5, drain(func() bool { return g.Allow("trader", "backtesting.run") }))
	require.Equal(t, 10, drain(func() bool { return g.Allow("trader", "config.update") }))
}
