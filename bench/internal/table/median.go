package table

import (
	"math"
	"slices"
)

// median returns the middle value, or the mean of the two in the middle. It is
// NaN without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return (s[mid-1] + s[mid]) / 2
}

// spread returns how far the value farthest from the median lies from it, as a
// fraction of the median. It is zero with fewer than two values.
func spread(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m := median(values)
	return max(slices.Max(values)-m, m-slices.Min(values)) / m
}

// figure is the median of a benchmark in one unit, and whether it was measured.
func (m *Measurements) Figure(name, unit string) (float64, bool) {
	s := m.samples[name]
	if s == nil || len((*s)[unit]) == 0 {
		return 0, false
	}
	return median((*s)[unit]), true
}
