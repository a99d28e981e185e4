package clock

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimeSaturates(t *testing.T) {
	const top, bottom = Time(math.MaxInt64), Time(math.MinInt64)
	require.Equal(t, Time(30), Time(10).Add(20))
	require.Equal(t, Time(-10), Time(10).Add(-20))
	require.Equal(t, top, top.Add(1))
	require.Equal(t, bottom, bottom.Add(-1))
	require.Equal(t, time.Duration(20), Time(30).Sub(10))
	require.Equal(t, time.Duration(math.MaxInt64), top.Sub(-1))
	require.Equal(t, time.Duration(math.MaxInt64), Time(0).Sub(bottom))
	require.Equal(t, time.Duration(math.MinInt64), bottom.Sub(1))
	require.Equal(t, time.Duration(math.MinInt64), bottom.Sub(0))
	require.Equal(t, time.Duration(0), bottom.Sub(bottom))
}

func TestManual(t *testing.T) {
	m := NewManual(100)
	require.Equal(t, Time(100), m.Now())
	require.Equal(t, Time(1100), m.Advance(time.Microsecond))
	require.Equal(t, Time(1100), m.Now())
	m.Set(50)
	require.Equal(t, Time(50), m.Now(), "Set may go back")
	require.Equal(t, Time(40), m.Advance(-10))
	m.Set(math.MaxInt64 - 1)
	require.Equal(t, Time(math.MaxInt64), m.Advance(time.Hour), "Advance saturates")

	var zero Manual
	require.Equal(t, Time(0), zero.Now())
}

func TestManualConcurrentAdvancesAddUp(t *testing.T) {
	const goroutines, each = 8, 5000
	m := NewManual(0)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			last := m.Now()
			for range each {
				m.Advance(3)
				now := m.Now()
				if now < last+3 {
					t.Errorf("own advance is missing: %d after %d", now, last)
					return
				}
				last = now
			}
		})
	}
	wg.Wait()
	require.Equal(t, Time(goroutines*each*3), m.Now())
}
