package redisync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAClockThatIsSetBackStopsNothing(t *testing.T) {
	b := benchOf(t, on(t, 4, "1000/h"), nil)
	b.clock.Advance(3 * time.Hour)
	require.Equal(t, 4, b.takes(9))
	b.run(2 * second)
	b.clock.Advance(-time.Hour)
	require.Equal(t, 4, b.takes(9))
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 8, b.engine.state().Charged)
	calls := b.redis.calls
	b.run(1200 * time.Millisecond)
	require.Greater(t, b.redis.calls, calls, "heartbeats go on")

	// What was not answered before counts as waiting for as long as it did.
	b.redis.script = away
	require.Equal(t, 4, b.takes(9))
	b.run(500 * time.Millisecond)
	b.clock.Advance(-time.Hour)
	b.run(100 * time.Millisecond)
	require.False(t, b.engine.state().Away)
	require.InDelta(t, 600*time.Millisecond, b.engine.state().Oldest, 2e7)
	b.run(2 * second)
	require.True(t, b.engine.state().Away)
	b.redis.script = nil
	b.run(second)
	require.False(t, b.engine.state().Away)
	require.Zero(t, b.engine.state().Parked)
}

func TestLeasesGoOnWhenTheClockIsSetBack(t *testing.T) {
	b := benchOf(t, on(t, 0, "100/d"), as(Lease))
	b.clock.Advance(3 * time.Hour)
	b.redis.grant = 8
	b.gate.Allow("k", "e")
	b.run(20 * time.Millisecond)
	require.True(t, b.gate.Allow("k", "e"))
	b.clock.Advance(-time.Hour)
	require.False(t, b.gate.Allow("other", "e"))
	b.run(20 * time.Millisecond)
	require.True(t, b.gate.Allow("other", "e"))
	b.redis.script = away
	b.run(1200 * time.Millisecond)
	require.False(t, b.gate.Allow("k", "e"), "a second after it was granted, not an hour")
	require.False(t, b.gate.Allow("other", "e"))
}

func TestACalmEngineIsWokenLess(t *testing.T) {
	b := benchOf(t, on(t, 8, "1000/s"), nil)
	wakes := func(d time.Duration) (n int) {
		for end := b.clock.Now().Add(d); b.clock.Now() < end; n++ {
			wait := b.engine.step(b.clock.Now())
			b.land()
			b.clock.Advance(max(wait, 1))
		}
		return n
	}
	wakes(2 * second)
	require.InDelta(t, 110, wakes(second), 15, "an Interval is 10 ms")
	require.Equal(t, 5, b.takes(5)) // more than half
	wakes(20 * time.Millisecond)
	require.Greater(t, wakes(500*time.Millisecond), 400, "every tick, for a second")
	wakes(second)
	require.InDelta(t, 110, wakes(second), 15)
}
