package shard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// More than there is gives an error, and ends nothing.
func TestMoreMemoryThanThereIs(t *testing.T) {
	if _, err := mapPages(4096); errors.Is(err, errors.ErrUnsupported) || ^uintptr(0)>>32 == 0 {
		t.Skip("not known here")
	}
	many := ^uintptr(0) >> 20 // slots, a petabyte
	require.Error(t, heapRoom(many*slotSize))
	if installed() > 0 {
		_, err := reserve(many)
		require.ErrorContains(t, err, "lower MaxKeys")
	}
}
