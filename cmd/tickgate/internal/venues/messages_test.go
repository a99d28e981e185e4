package venues

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy/venue"
)

func open(t *testing.T, p venue.Preset, keys int) *Messages {
	g, err := tickgate.New(tickgate.Config{Policies: p.Policies, MaxKeys: keys, Clock: clock.NewManual(0), Wall: clock.NewManualWall(0)})
	require.NoError(t, err)
	return New(g, p)
}

func TestMessagesDrawOnAllCounts(t *testing.T) {
	m := open(t, venue.BinanceSpot(), 100)
	for range 100 {
		require.True(t, m.TakeAt(0, "a", "order.new", 1).Allowed)
	}
	d := m.TakeAt(0, "a", "order.replace", 1)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, "orders-10s", d.Limit)
	require.True(t, m.TakeAt(0, "a", "order.cancel", 1).Allowed)
	require.True(t, m.TakeAt(0, "b", "order.new", 1).Allowed, "another key")
	require.True(t, m.TakeAt(0, "a", "query", 5899).Allowed, "6000 less 101")
	require.Equal(t, "weight-1m", m.TakeAt(0, "a", "order.cancel", 1).Limit)
	require.True(t, m.TakeAt(clock.Time(time.Minute), "a", "order.new", 77).Allowed, "an order costs what it costs")
	require.Equal(t, int64(99), m.TakeAt(clock.Time(time.Minute), "a", "order.new", 0).Remaining)
}

func TestMessagesUnknownClass(t *testing.T) {
	m := open(t, venue.CoinbaseExchange(), 100)
	require.Equal(t, tickgate.NoPolicy, m.TakeAt(0, "a", "order.replace", 1).Reason)
	require.Equal(t, tickgate.NoPolicy, m.TakeAt(0, "a", "request", 1).Reason, "a count is no class")
}

func TestMessagesFull(t *testing.T) {
	m := open(t, venue.BinanceSpot(), 4)
	require.True(t, m.TakeAt(0, "a", "order.new", 1).Allowed)
	require.Equal(t, tickgate.Full, m.TakeAt(0, "b", "order.new", 1).Reason)
	require.True(t, m.TakeAt(0, "a", "order.cancel", 1).Allowed)
}
