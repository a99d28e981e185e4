package raw

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounterMoves(t *testing.T) {
	if !Supported {
		require.Zero(t, Counter())
		return
	}
	first := Counter()
	for range 1_000_000 {
		if Counter() != first {
			return
		}
	}
	t.Fatal("the counter stood still for a million reads")
}
