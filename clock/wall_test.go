package clock

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestManualWall(t *testing.T) {
	w := NewManualWall(time.Hour)
	require.Equal(t, int64(time.Hour)+5, w.UnixNano(5))
	w.SetOffset(-time.Second)
	require.Equal(t, int64(-time.Second)+5, w.UnixNano(5))
	require.Equal(t, int64(math.MinInt64), w.UnixNano(math.MinInt64), "saturates")

	var zero ManualWall
	require.Equal(t, int64(7), zero.UnixNano(7))
}

func TestSystemWallIsTheSystems(t *testing.T) {
	w, c := SystemWall(), Default()
	for range 3 {
		before := time.Now().UnixNano()
		got := w.UnixNano(c.Now())
		after := time.Now().UnixNano()
		require.GreaterOrEqual(t, got, before-int64(time.Millisecond))
		require.LessOrEqual(t, got, after+int64(time.Millisecond))
	}
}

func TestSystemWallSeesSteps(t *testing.T) {
	const start = int64(1_700_000_000_000_000_000)
	for _, step := range []time.Duration{time.Hour, -time.Hour, 50 * time.Microsecond, -50 * time.Microsecond} {
		mono, offset := NewManual(1000), start
		w := newSystemWall(mono, func() int64 { return int64(mono.Now()) + offset })
		require.Equal(t, start+1000, w.UnixNano(1000))
		offset += int64(step)
		mono.Advance(wallAge - 1)
		require.Equal(t, start+int64(mono.Now()), w.UnixNano(mono.Now()), "the old mapping within its age")
		mono.Advance(1)
		require.Equal(t, offset+int64(mono.Now()), w.UnixNano(mono.Now()), "step %v is seen after it", step)
		require.Equal(t, offset+1000, w.UnixNano(1000), "also for a Time from before")
	}
}

func TestSystemWallMeasuresBothWays(t *testing.T) {
	mono, calls := NewManual(0), 0
	w := newSystemWall(mono, func() int64 { calls++; return 0 })
	at := func(at Time) int {
		calls = 0
		w.UnixNano(at)
		return calls
	}
	require.Zero(t, at(Time(wallAge)-1))
	require.Zero(t, at(-Time(wallAge)+1))
	require.Positive(t, at(Time(wallAge)))
	require.Zero(t, at(1))
	require.Positive(t, at(0))
	require.Positive(t, at(math.MaxInt64))
	require.Positive(t, at(0))
	require.Positive(t, at(math.MinInt64))
}

func TestSystemWallIgnoresNoise(t *testing.T) {
	mono, noise := NewManual(0), int64(0)
	w := newSystemWall(mono, func() int64 { return int64(mono.Now()) + noise })
	for _, noise = range []int64{9000, -9000, 400, int64(wallNoise)} {
		mono.Advance(time.Second)
		require.Equal(t, int64(77), w.UnixNano(mono.Now())-int64(mono.Now())+77)
	}
}

func TestSystemWallConcurrent(t *testing.T) {
	mono := NewManual(0)
	w := newSystemWall(mono, func() int64 { return int64(mono.Now()) + 5e9 })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				at := mono.Advance(time.Millisecond)
				// Advances of the others during a measurement shift it by a few milliseconds.
				if d := w.UnixNano(at) - int64(at) - 5e9; d < -int64(time.Second) || d > int64(time.Second) {
					t.Errorf("off by %v", time.Duration(d))
					return
				}
			}
		})
	}
	wg.Wait()
}
