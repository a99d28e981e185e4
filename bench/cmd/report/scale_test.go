package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScaleIsLogarithmicOnlyWhereItMustBe(t *testing.T) {
	require.Equal(t, scale{hi: 100}, scaleOf([]float64{20, 80, 61}))
	require.Equal(t, scale{hi: 200}, scaleOf([]float64{0, 130}), "zero has no logarithm")
	require.Equal(t, scale{hi: 1}, scaleOf(nil))
	require.Equal(t, scale{log: true, lo: 5, hi: 2000}, scaleOf([]float64{8, 1200}))
	require.Equal(t, scale{log: true, lo: 5, hi: 100}, scaleOf([]float64{10, 100}), "the least bar can be seen")
}

func TestPlaces(t *testing.T) {
	s := scale{log: true, lo: 1, hi: 100}
	require.InDelta(t, 0, s.at(1), 1e-9)
	require.InDelta(t, 0.5, s.at(10), 1e-9)
	require.InDelta(t, 1, s.at(1000), 1e-9, "nothing lies outside")
	require.InDelta(t, 0.25, scale{hi: 200}.at(50), 1e-9)
}

func TestTicks(t *testing.T) {
	labels := func(s scale) (all []string) {
		for _, x := range s.ticks() {
			require.False(t, math.IsNaN(x.At))
			all = append(all, x.Label)
		}
		return all
	}
	require.Equal(t, []string{"0", "50", "100", "150", "200"}, labels(scale{hi: 200}))
	require.Equal(t, []string{"20", "50", "100", "200", "500", "1000"}, labels(scale{log: true, lo: 20, hi: 1000}))
	require.Equal(t, []string{"0.1", "1", "10", "100", "1000"}, labels(scale{log: true, lo: 0.1, hi: 1000}))
	require.Equal(t, []string{"5", "10", "100", "1000", "2000"}, labels(scale{log: true, lo: 5, hi: 2000}))
}

func TestRoundNumbers(t *testing.T) {
	for v, want := range map[float64][2]float64{3: {2, 5}, 5: {5, 5}, 0.07: {0.05, 0.1}, 999: {500, 1000}, 1000: {1000, 1000}} {
		require.InEpsilon(t, want[0], roundDown(v), 1e-9, v)
		require.InEpsilon(t, want[1], roundUp(v), 1e-9, v)
	}
}
