package server

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeadroom(t *testing.T) {
	const mb = 1 << 20
	require.Equal(t, 800, headroom(32*mb, 4*mb))
	require.Equal(t, 100, headroom(32*mb, 200*mb), "never less than usual")
	require.Equal(t, maxHeadroom, headroom(32*mb, 0))
	require.Equal(t, maxHeadroom, headroom(32*mb, mb))

	old := debug.SetGCPercent(100)
	defer debug.SetGCPercent(old)
	t.Setenv("GOGC", "50")
	require.Zero(t, Headroom(32*mb))
	require.Equal(t, 100, debug.SetGCPercent(100), "what the operator set stays")
	t.Setenv("GOGC", "")
	set := Headroom(32 * mb)
	require.Equal(t, set, debug.SetGCPercent(100))
}
