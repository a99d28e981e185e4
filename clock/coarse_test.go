package clock

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCoarseStepRange(t *testing.T) {
	for _, step := range []time.Duration{math.MinInt64, -1, 0, MinCoarseStep - 1, MaxCoarseStep + 1, math.MaxInt64} {
		c, err := NewCoarse(step)
		require.ErrorContains(t, err, "use 100µs to 1s", "step %v", step)
		require.Nil(t, c)
	}
	for _, step := range []time.Duration{MinCoarseStep, MaxCoarseStep} {
		c, err := NewCoarse(step)
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
}

func TestCoarseMovesPerStep(t *testing.T) {
	src, ticks, released := NewManual(1000), make(chan time.Time), 0
	c := startCoarse(src, ticks, func() { released++ })
	tick := func() {
		ticks <- time.Time{} // taken when the goroutine is ready for the next,
		ticks <- time.Time{} // so that after the second the first has been dealt with
	}
	require.Equal(t, Time(1000), c.Now())
	src.Set(2000)
	require.Equal(t, Time(1000), c.Now(), "between steps it stands")
	tick()
	require.Equal(t, Time(2000), c.Now())
	src.Set(1500)
	tick()
	require.Equal(t, Time(2000), c.Now(), "it never goes back")

	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _ = c.Close() })
	}
	wg.Wait()
	require.Equal(t, 1, released)
	src.Set(9000)
	require.Equal(t, Time(2000), c.Now(), "closed, it stands")
}

func TestCoarseFollowsRuntime(t *testing.T) {
	c, err := NewCoarse(time.Millisecond)
	require.NoError(t, err)
	defer c.Close()
	start := c.Now()
	require.Eventually(t, func() bool {
		now := c.Now()
		require.LessOrEqual(t, now, Runtime().Now(), "never ahead")
		return now.Sub(start) > 5*time.Millisecond
	}, 10*time.Second, time.Millisecond)
}
