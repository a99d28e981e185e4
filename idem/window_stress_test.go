package idem

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// stressed returns windows off the heap and on it: the race detector sees what
// happens on it only.
func stressed(t *testing.T, ttl time.Duration, capacity int) []*Window {
	off, _ := atNow(t, ttl, capacity)
	on, err := newWindow(WindowConfig{Clock: clock.NewManual(0), TTL: ttl, Capacity: capacity}, noPages)
	require.NoError(t, err)
	on.mask = 3 << 62 // and few homes
	return []*Window{off, on}
}

func rounds(n int) int {
	if testing.Short() || raceEnabled {
		return n / 10
	}
	return n
}

// Of concurrent Adds of one id exactly one is fresh: on a window with room, on one
// with room for just this id, and where the id has just expired. The others are
// duplicates, but with the last room taken by the one while the system keeps it from
// running they may be told Full.
func TestWindowStressOneID(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, capacity := range []int{1, 64} {
		for _, w := range stressed(t, 10, capacity) {
			early := 0
			for round := range rounds(3000) {
				now := clock.Time(20 * round)
				id := orderID(round % 3)
				var counts [BadID + 1]atomic.Int32
				start := make(chan struct{})
				var wg sync.WaitGroup
				for range 8 {
					wg.Go(func() {
						<-start
						counts[w.AddAt(now, id)].Add(1)
					})
				}
				close(start)
				wg.Wait()
				require.EqualValues(t, 1, counts[Fresh].Load(), "round %d", round)
				if capacity > 1 {
					require.EqualValues(t, 7, counts[Duplicate].Load(), "round %d", round)
				}
				require.EqualValues(t, 7, counts[Duplicate].Load()+counts[Full].Load(), "round %d", round)
				require.Equal(t, now, w.sound(t)[id])
				early += int(counts[Full].Load())
			}
			t.Logf("capacity %d: %d early Full", capacity, early)
		}
	}
}

// Many ids and few, added and released by all at once. Who was told Fresh has the
// id until it releases it: two at one time is a duplicate that was not seen. More
// than the capacity at one time is a Fresh without room.
func TestWindowStressOwners(t *testing.T) {
	var full atomic.Int64
	for _, procs := range []int{2, 8} {
		for _, shape := range []struct{ capacity, ids int }{{1, 3}, {4, 6}, {50, 300}, {300, 300}} {
			t.Run(fmt.Sprintf("procs=%d/capacity=%d/ids=%d", procs, shape.capacity, shape.ids), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				for _, w := range stressed(t, time.Hour, shape.capacity) {
					owners := make([]atomic.Int32, shape.ids)
					var owned atomic.Int64
					var wg sync.WaitGroup
					for g := range 8 {
						wg.Go(func() {
							rnd := rand.New(rand.NewPCG(uint64(g), 4))
							for range rounds(20_000) {
								n := rnd.IntN(shape.ids)
								switch w.AddAt(0, orderID(n)) {
								case Full:
									full.Add(1)
								case Fresh:
									if owners[n].Add(1) != 1 {
										t.Errorf("id %d has two owners", n)
									}
									if owned.Add(1) > int64(shape.capacity) {
										t.Error("more ids than the capacity")
									}
									if rnd.IntN(3) == 0 {
										runtime.Gosched()
									}
									if w.AddAt(0, orderID(n)) != Duplicate {
										t.Errorf("id %d is held and was not seen", n)
									}
									owned.Add(-1)
									owners[n].Add(-1)
									if !w.ReleaseAt(0, orderID(n)) {
										t.Errorf("id %d was not released", n)
									}
								}
							}
						})
					}
					wg.Wait()
					require.Empty(t, w.sound(t))
				}
			})
		}
	}
	require.NotZero(t, full.Load(), "it was never full, which shows nothing")
}

// Time goes on while all add: no id is fresh twice within the TTL, and what is
// said to be full is.
func TestWindowStressExpiry(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const ids, ttl = 400, 1000
	for _, capacity := range []int{40, 200, 1000} {
		for _, w := range stressed(t, ttl, capacity) {
			var now atomic.Int64
			var mu [ids]sync.Mutex
			var fresh [ids]int64 // no later than its last Fresh
			var counts [BadID + 1]atomic.Int64
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(g), 5))
					for range rounds(20_000) {
						n := rnd.IntN(ids)
						at := now.Add(rnd.Int64N(3))
						if rnd.IntN(10) == 0 {
							at -= rnd.Int64N(ttl / 2) // late callers
						}
						mu[n].Lock()
						last, known := fresh[n], fresh[n] != 0
						mu[n].Unlock()
						v := w.AddAt(clock.Time(at), orderID(n))
						counts[v].Add(1)
						if v == Fresh {
							// The id may have been forgotten for a caller of the newest time.
							if known && now.Load()-last < ttl {
								t.Errorf("id %d is fresh at %d, and was at %d", n, at, last)
							}
							mu[n].Lock()
							fresh[n] = max(fresh[n], at)
							mu[n].Unlock()
						}
					}
				})
			}
			wg.Wait()
			for id, at := range w.sound(t) {
				require.LessOrEqual(t, int64(at), now.Load(), id)
			}
			require.NotZero(t, counts[Fresh].Load())
			require.NotZero(t, counts[Duplicate].Load())
			if capacity < ids {
				require.NotZero(t, counts[Full].Load(), "capacity %d", capacity)
			} else {
				require.Zero(t, counts[Full].Load(), "capacity %d", capacity)
			}
		}
	}
}

// A window is collected while nobody holds it, and not while a call is on.
func TestWindowIsCollected(t *testing.T) {
	for range 50 {
		w, err := NewWindow(WindowConfig{Clock: clock.NewManual(0), Capacity: 1000})
		require.NoError(t, err)
		done := make(chan struct{})
		runtime.AddCleanup(w, func(c chan struct{}) { close(c) }, done)
		require.Equal(t, Fresh, w.Add("a"))
		w = nil
		for collected := false; !collected; {
			runtime.GC()
			select {
			case <-done:
				collected = true
			default:
				runtime.Gosched()
			}
		}
	}
}
