package ratecompat

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const workers = 6

// together runs f in some goroutines at once.
func together(f func(r *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range uint64(workers) {
		wg.Go(func() { f(rand.New(rand.NewPCG(i, 77))) })
	}
	wg.Wait()
}

// At one time tokens are neither made nor lost, whatever is done at once: what was
// taken and not given back is what is missing.
func TestStressConserves(t *testing.T) {
	const burst = 1000
	l := NewLimiter(10, burst)
	var taken atomic.Int64
	together(func(r *rand.Rand) {
		var held []*Reservation
		for range 3000 {
			switch k := r.IntN(20); {
			case k < 6:
				if n := r.IntN(3); l.AllowN(t0, n) {
					taken.Add(int64(n))
				}
			case k < 12:
				held = append(held, l.ReserveN(t0, 1+r.IntN(5)))
				taken.Add(held[len(held)-1].claim.n)
			case k < 19 && len(held) > 0:
				i := r.IntN(len(held))
				taken.Add(-held[i].claim.n)
				held[i].CancelAt(t0)
				held = append(held[:i], held[i+1:]...)
			case k == 19:
				l.SetLimitAt(t0, []Limit{0, 1, 10, 1000, 1e6}[r.IntN(5)])
			}
		}
	})
	require.Greater(t, taken.Load(), int64(burst), "some were reserved beyond it")
	require.InDelta(t, float64(burst-taken.Load()), l.TokensAt(t0), 1e-6)
}

// While time goes on: no more passes than the burst and what the highest rate in
// force brought.
func TestStressBound(t *testing.T) {
	const burst, fast = 20, 1000
	l := NewLimiter(fast, burst)
	var now, passed atomic.Int64
	require.True(t, l.AllowN(t0, 0))
	together(func(r *rand.Rand) {
		for range 4000 {
			at := t0.Add(time.Duration(now.Add(int64(r.IntN(200_000)))))
			switch k := r.IntN(20); {
			case k < 10:
				if l.AllowN(at, 1) {
					passed.Add(1)
				}
			case k < 13:
				// Reserved and not given back: it counts from when it is due.
				if v := l.ReserveN(at, 1); v.DelayFrom(at) == 0 {
					passed.Add(1)
				} else {
					v.CancelAt(at)
				}
			case k < 18:
				a, b := l.ReserveN(at, 1+r.IntN(burst)), l.ReserveN(at, 1)
				a.CancelAt(at)
				b.CancelAt(at)
				if b.claim.n != 0 { // its time was over when others moved on
					passed.Add(1)
				}
			case k == 18:
				l.SetLimitAt(at, Limit(1+r.IntN(fast)))
			default:
				l.TokensAt(at)
			}
		}
	})
	end := time.Duration(now.Load())
	left := l.TokensAt(t0.Add(end))
	require.LessOrEqual(t, left, float64(burst))
	require.LessOrEqual(t, float64(passed.Load()), burst-left+fast*end.Seconds()+1e-6)
	require.Greater(t, passed.Load(), int64(burst))
}

// With the machine's own time: nobody hangs, and nobody is too early.
func TestStressWait(t *testing.T) {
	const burst, rate = 5, 20_000
	start := time.Now()
	l := NewLimiter(rate, burst)
	var passed atomic.Int64
	together(func(r *rand.Rand) {
		for range 300 {
			switch r.IntN(6) {
			case 0:
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(200))*time.Microsecond)
				if l.WaitN(ctx, 2) == nil {
					passed.Add(2)
				}
				cancel()
			case 1:
				l.SetLimit(Limit(rate - r.IntN(rate/2)))
			case 2:
				l.Reserve().Cancel()
			default:
				if l.Wait(context.Background()) == nil {
					passed.Add(1)
				}
			}
		}
	})
	most := burst + rate*time.Since(start).Seconds()
	require.LessOrEqual(t, float64(passed.Load()), most)
	require.Nil(t, l.queue.head)
}
