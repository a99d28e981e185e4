package tickgate_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

// One takes and others tell it what a venue counted, which leaves some of it out. At
// no time less is counted than the venue counts, and in the end exactly that.
func TestSyncUsedWhileTaking(t *testing.T) {
	for _, l := range counting {
		for round := range scaled(20, 4) {
			g, _, h := syncedGate(t, l)
			take := func() tickgate.Decision { return h.Take(1) }
			syncWhileTaking(t, l, uint64(round), g, h, take, func(d tickgate.Decision, used int64) { h.SyncUsed(d, "w", used) })
		}
	}
}

// reply is what a venue answers to an admission.
type reply struct {
	d    tickgate.Decision
	used int64
}

func syncWhileTaking(t *testing.T, limit string, seed uint64, g *tickgate.Gate, h tickgate.Handle,
	take func() tickgate.Decision, sync func(tickgate.Decision, int64),
) {
	t.Helper()
	replies := make(chan reply, 8)
	venue := int64(0)
	together(3, func(i int) {
		if i > 0 {
			for a := range replies {
				sync(a.d, a.used)
			}
			return
		}
		r := rand.New(rand.NewPCG(33, seed))
		for range 400 {
			if d := take(); d.Allowed {
				venue += 1 - r.Int64N(2)
				replies <- reply{d, venue}
			}
		}
		close(replies)
	})
	require.GreaterOrEqual(t, usedOf(g, h), venue, "%s: less than the venue counts", limit)
	d := take()
	require.True(t, d.Allowed)
	sync(d, venue+1)
	require.Equal(t, venue+1, usedOf(g, h), limit)
}

// What a correction gives back is known exactly, whoever takes meanwhile: a reply to
// an admission from before all of them neither counts less than was admitted since,
// nor takes anything back that a newer one told.
func TestSyncUsedCorrectionsAddUp(t *testing.T) {
	const corrections = 300
	for _, kind := range []string{"aligned", "from-first", "rolling"} {
		for range scaled(20, 4) {
			g, _, h := syncedGate(t, "100000/h "+kind+" name=w")
			first := h.Take(1)
			var others atomic.Int64
			var done atomic.Bool
			together(4, func(i int) {
				if i > 0 {
					for !done.Load() && others.Load() < 50_000 {
						if h.Allow() {
							others.Add(1)
						}
					}
					return
				}
				defer done.Store(true)
				for range corrections {
					d := h.Take(1)
					h.SyncUsed(d, "w", 100_000-d.Remaining-1) // it was not counted
				}
			})
			h.SyncUsed(first, "w", 1)
			require.Contains(t, []int64{1 + others.Load(), 1 + others.Load() + corrections}, usedOf(g, h), kind)
		}
	}
}

// Every admission has a number of tokens left of its own, as if they came one after
// the other: it is what its mark for a later correction is made of.
func TestSyncUsedMarksAreOfOneAdmission(t *testing.T) {
	for _, l := range []string{"1000/m name=w", "1000/m aligned name=w", "1000/m from-first name=w", "1000/m rolling name=w"} {
		for range scaled(50, 8) {
			_, _, h := syncedGate(t, l)
			var mu sync.Mutex
			seen := map[int64]int{}
			together(4, func(int) {
				for range 100 {
					d := h.Take(1)
					mu.Lock()
					seen[d.Remaining]++
					mu.Unlock()
				}
			})
			require.Len(t, seen, 400, "%s: two admissions left the same", l)
		}
	}
}
