package redisync

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func TestHushSaysAThingOnceAMinute(t *testing.T) {
	var h hush
	now := clock.Time(5)
	require.True(t, h.may("a", now))
	require.False(t, h.may("a", now.Add(59*time.Second)))
	require.True(t, h.may("b", now))
	require.True(t, h.may("a", now.Add(time.Minute)))
	require.True(t, h.may("a", now), "the clock was set back")
	for i := range 3 * mostSaid {
		h.may(strconv.Itoa(i), now)
	}
	require.Len(t, h.said, mostSaid)
	require.False(t, h.may("new", now))
	require.True(t, h.may("new", now.Add(time.Minute)))
}
