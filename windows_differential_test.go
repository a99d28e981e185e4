package tickgate_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// Random calls under limits of every kind: by name and by handle, urgent, with costs
// of their own, late, charges, credits and refunds. The gate decides each as the
// exact model does, to the token and the nanosecond.
func TestWindowsDifferentialToTheModel(t *testing.T) {
	for round := range scaled(400, 60) {
		r := rand.New(rand.NewPCG(41, uint64(round)))
		w := newTwins(t, r, 1000, 1+r.IntN(8)*r.IntN(2))
		w.late = r.IntN(2) == 0
		for range 600 {
			w.step(4)
		}
		require.Zero(t, w.gate.Stats().Evictions)
	}
}

// The same while limits change their numbers and their kind, come and go.
func TestWindowsDifferentialUnderChange(t *testing.T) {
	for round := range scaled(300, 50) {
		r := rand.New(rand.NewPCG(42, uint64(round)))
		w := newTwins(t, r, 1000, 1+r.IntN(4))
		for i := range 900 {
			if i%30 == 29 {
				w.apply()
			}
			w.step(4)
		}
	}
}

// The same where full keys are evicted all the time: nobody can tell.
func TestWindowsDifferentialUnderEviction(t *testing.T) {
	for round := range scaled(60, 8) {
		r := rand.New(rand.NewPCG(43, uint64(round)))
		w := newTwins(t, r, 60, 1+r.IntN(5))
		for i := range w.limits {
			if w.limits[i].Per > time.Second {
				w.limits[i].Per, w.limits[i].Skew = time.Second, w.limits[i].Skew/100
			}
		}
		require.NoError(t, w.gate.Apply(w.set()))
		for range 3000 {
			w.advance(time.Duration(r.Int64N(1e8)))
			w.step(200)
		}
		s := w.gate.Stats()
		require.Zero(t, s.Evictions.Forced, "the test's rates keep too many keys in debt")
		require.NotZero(t, s.Evictions.Idle)
	}
}

// The wall clock is stepped to and fro: a window in force ends when it was to end,
// and what it counted is counted where the next one reaches back into it.
func TestWindowsDifferentialUnderSteps(t *testing.T) {
	for round := range scaled(200, 40) {
		r := rand.New(rand.NewPCG(44, uint64(round)))
		w := newTwins(t, r, 1000, 1+r.IntN(3))
		w.steps, w.credits = true, false
		for i := range w.limits {
			w.limits[i].Skew = 0
			if i == 0 {
				w.limits[i].Window, w.limits[i].Burst = policy.Aligned, 0
			}
		}
		require.NoError(t, w.gate.Apply(w.set()))
		for range 800 {
			if r.IntN(20) == 0 {
				w.wall.SetOffset(time.Duration(r.Int64N(1e12) - 5e11))
			}
			w.step(3)
		}
	}
}

// Any seed is a script of calls under some limits.
func FuzzWindows(f *testing.F) {
	for i := range uint64(16) {
		f.Add(i, uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, limits uint8, late bool) {
		r := rand.New(rand.NewPCG(45, seed))
		w := newTwins(t, r, 1000, 1+int(limits%8))
		w.late = late
		for i := range 300 {
			if i%60 == 59 && limits%8 < 4 {
				w.apply()
			}
			w.step(3)
		}
	})
}
