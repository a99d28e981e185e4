//go:build linux

package faults

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// played runs a load against a decider for a while.
func played(t *testing.T, l Load, d time.Duration, take func(key int) bool) *Log {
	log, err := NewLog("", 1<<20)
	require.NoError(t, err)
	t.Cleanup(func() { log.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	l.Run(ctx, 1, log, take)
	require.Zero(t, log.Overflow())
	return log
}

func always(int) bool { return true }

func TestLoadGreedyTakesAllThereIs(t *testing.T) {
	left := map[int]int{0: 5, 1: 7}
	log := played(t, Load{Keys: 2}, 30*time.Millisecond, func(key int) bool {
		left[key]--
		return left[key] >= 0
	})
	require.Len(t, log.Events(), 12)
	require.Greater(t, log.Denied(), int64(10))
	for _, e := range log.Events() {
		require.LessOrEqual(t, e.Before, e.After)
		require.EqualValues(t, 1, e.N)
	}
	require.NotEmpty(t, played(t, Load{}, 10*time.Millisecond, always).Events(), "it ends though it is never denied")
}

func TestLoadRandomKeepsItsRate(t *testing.T) {
	log := played(t, Load{PerSecond: 5000, Keys: 10}, 400*time.Millisecond, always)
	require.InDelta(t, 2000, len(log.Events()), 400)
	keys := map[uint32]int{}
	for _, e := range log.Events() {
		keys[e.Key]++
	}
	require.Len(t, keys, 10)
}

func TestLoadSkewed(t *testing.T) {
	log := played(t, Load{PerSecond: 20_000, Keys: 100, Skew: 1.5}, 200*time.Millisecond, always)
	keys := map[uint32]int{}
	for _, e := range log.Events() {
		require.Less(t, e.Key, uint32(100))
		keys[e.Key]++
	}
	require.Greater(t, keys[0], len(log.Events())/5)
	require.Greater(t, len(keys), 20)
}

func TestLoadOnAndOff(t *testing.T) {
	for _, rate := range []float64{0, 20_000} {
		l := Load{PerSecond: rate, On: 10 * time.Millisecond, Off: 30 * time.Millisecond}
		log := played(t, l, 200*time.Millisecond, func(int) bool { time.Sleep(time.Microsecond); return true })
		require.Greater(t, len(log.Events()), 20)
		late := 0
		for _, e := range log.Events() {
			if e.Before%int64(40*time.Millisecond) > int64(10*time.Millisecond) {
				late++
			}
		}
		require.LessOrEqual(t, late, 12, "only what began in time")
	}
}
