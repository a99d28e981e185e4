package ratecompat

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// exact are rates at which x/time loses nothing, if times are multiples of 1/64 s:
// all tokens are then multiples of 1/64, and all delays of 1/512 s.
var exact = []float64{1, 2, 4, 8, 0, -1, math.MaxFloat64}

func TestAgreesExactly(t *testing.T) {
	calls := 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScript(t, exact[r.IntN(len(exact))], r.IntN(16))
		s.change = func() float64 { return exact[r.IntN(len(exact))] }
		for range 300 {
			if r.IntN(2) == 0 {
				s.now = s.now.Add(time.Duration(r.IntN(1<<r.IntN(11))) * time.Second / 64)
			}
			s.call(r.IntN(9), r.IntN(1<<16))
		}
		calls += s.calls
	}
	require.Equal(t, 400*300, calls)
}

// Rates of up to 63 tokens in up to an hour, at any nanosecond. These are fractions
// that ours keeps exactly; x/time has them as floats.
func TestAgreesWithinFloats(t *testing.T) {
	calls, splits := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		draw := func() float64 { return float64(1+r.IntN(63)) / float64(1+r.IntN(1<<r.IntN(12))) }
		s := newScript(t, draw(), r.IntN(1<<r.IntN(12)))
		s.change, s.float, s.tolerance = draw, true, floatTolerance
		for range 300 {
			if s.split {
				splits++
				break
			}
			if r.IntN(2) == 0 {
				s.now = s.now.Add(time.Duration(r.ExpFloat64() * 2e9 / s.rate))
			}
			s.call(r.IntN(9), r.IntN(1<<16))
		}
		calls += s.calls
	}
	require.Greater(t, calls, 100_000)
	require.Less(t, splits, 20, "a token's edge is met seldom")
}

// FuzzAgrees plays a script of three bytes a call at exact rates.
func FuzzAgrees(f *testing.F) {
	f.Add(byte(3), byte(10), []byte{0, 1, 0, 5, 3, 7, 7, 2, 0, 8, 5, 1, 0, 6, 4})
	f.Add(byte(6), byte(0), []byte{7, 0, 0, 6, 255, 1, 8, 9, 9})
	f.Fuzz(func(t *testing.T, rate, burst byte, calls []byte) {
		s := newScript(t, exact[int(rate)%len(exact)], int(burst))
		for ; len(calls) >= 3; calls = calls[3:] {
			op, v, step := int(calls[0]), int(calls[1]), int(calls[2])
			s.change = func() float64 { return exact[v%len(exact)] }
			s.now = s.now.Add(time.Duration(step) * time.Second / 64)
			s.call(op%9, v*(1+op/9))
		}
	})
}
