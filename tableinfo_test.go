package tickgate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

func TestTableInfo(t *testing.T) {
	set := policy.Set{{Endpoint: "e", Limits: []policy.Limit{{Tokens: 1, Per: time.Hour}}}}
	g, err := tickgate.New(tickgate.Config{Policies: set, MaxKeys: 5000})
	require.NoError(t, err)
	for i := range 3000 {
		require.True(t, g.Allow(fmt.Sprint("key", i), "e"))
	}
	info, keys := g.Table(), 0
	for _, n := range info.Shards {
		keys += n
	}
	require.Equal(t, 3000, keys)
	require.GreaterOrEqual(t, info.Slots, 10_000)
	require.EqualValues(t, 64*info.Slots, info.Bytes)
}

func TestBlockedTells(t *testing.T) {
	g, err := tickgate.New(tickgate.Config{})
	require.NoError(t, err)
	g.Block("somebody")
	require.False(t, g.Blocked())
	g.Block("")
	require.True(t, g.Blocked())
	g.Unblock("")
	require.False(t, g.Blocked())
}
