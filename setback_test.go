package tickgate_test

import (
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
