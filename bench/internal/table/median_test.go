package table

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.True(t, math.IsNaN(median(nil)))
	require.EqualValues(t, 5, median([]float64{5}))
	require.EqualValues(t, 2, median([]float64{100, 1, 2}))
	require.EqualValues(t, 2.5, median([]float64{4, 1, 3, 2}))

	values := []float64{3, 1, 2}
	median(values)
	require.Equal(t, []float64{3, 1, 2}, values, "the order of the samples is kept")
}

func TestSpread(t *testing.T) {
	require.Zero(t, spread([]float64{7}))
	require.InDelta(t, 0.5, spread([]float64{10, 15, 9}), 1e-9)
	require.InDelta(t, 0.4, spread([]float64{10, 11, 6}), 1e-9)
}
