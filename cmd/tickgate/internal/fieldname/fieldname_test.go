package fieldname

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSame(t *testing.T) {
	for _, other := range []string{"X-Api-Key", "x-API-key", "X_API_KEY", "X_Api-Key", "X.Api~Key"} {
		require.True(t, Same("X-Api-Key", other), other)
		require.True(t, HasPrefix(other+"-Old", "X-Api"), other)
	}
	for _, other := range []string{"", "X-Api-Ke", "X-Api-Keys", "XApi-Key", "X0Api-Key", "X-Api-Kex"} {
		require.False(t, Same("X-Api-Key", other), other)
	}
	require.False(t, HasPrefix("X-A", "X-Api"))
}
