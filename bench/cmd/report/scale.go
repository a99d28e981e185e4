package main

import (
	"fmt"
	"math"
)

// scale puts values on a line from 0 to 1.
type scale struct {
	log    bool
	lo, hi float64
}

// tick is a mark on the line.
type tick struct {
	At    float64
	Label string
}

// logFrom is the ratio of the largest value to the least from which a line is
// logarithmic: the least bar of a linear one would be a tenth of it or less.
const logFrom = 10

// scaleOf returns the line for values that are not negative. One with a zero is
// linear.
func scaleOf(values []float64) scale {
	lo, hi := math.Inf(1), 0.0
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	if hi == 0 {
		return scale{hi: 1}
	}
	if lo > 0 && hi/lo >= logFrom {
		return scale{log: true, lo: roundDown(lo / 1.25), hi: roundUp(hi)}
	}
	return scale{hi: roundUp(hi)}
}

// at is the place of a value.
func (s scale) at(v float64) float64 {
	if s.log {
		return min(1, max(0, math.Log(v/s.lo)/math.Log(s.hi/s.lo)))
	}
	return min(1, max(0, v/s.hi))
}

// ticks are the marks: quarters of a linear line; of a logarithmic one the powers
// of ten, and 2 and 5 between them where it is short. The ends have one always.
func (s scale) ticks() []tick {
	var all []tick
	if !s.log {
		for i := range 5 {
			v := s.hi * float64(i) / 4
			all = append(all, tick{s.at(v), short(v)})
		}
		return all
	}
	between := math.Log10(s.hi/s.lo) < 2
	for v := s.lo; v < s.hi*1.001; v = next(v) {
		if m := mantissa(v); m == 1 || between || v == s.lo || next(v) > s.hi*1.001 {
			all = append(all, tick{s.at(v), short(v)})
		}
	}
	return all
}

// steps are the round numbers of each power of ten, and the first of the next.
var steps = []float64{1, 2, 5, 10}

// mantissa is v divided by its power of ten, as the nearest of steps.
func mantissa(v float64) float64 {
	m := v / math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	return math.Round(m)
}

// next is the round number behind a round one.
func next(v float64) float64 { return roundUp(v * 1.5) }

// roundUp is the least round number that is not less than v.
func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range steps {
		if v <= step*power*(1+1e-9) {
			return step * power
		}
	}
	return 10 * power
}

// roundDown is the largest round number that is not more than v.
func roundDown(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i]*power <= v*(1+1e-9) {
			return steps[i] * power
		}
	}
	return power
}

// short prints a mark's value.
func short(v float64) string { return fmt.Sprintf("%.4g", v) }
