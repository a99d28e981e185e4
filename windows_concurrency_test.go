package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// Four goroutines take all that there is, by name, by handle and in a group, at one
// time after another: at each of them exactly as much passes as the model admits.
func TestG4WindowsUnderConcurrency(t *testing.T) {
	for _, limits := range [][]string{
		{"20/s aligned"}, {"20/s from-first"}, {"20/s rolling"}, {"1100/s rolling"}, {"20/s aligned skew=100ms"}, {"20/s from-first skew=100ms"},
		{"20/s rolling skew=50ms", "15/700ms aligned name=b"}, {"20/s burst=7", "30/2s rolling name=b", "17/s from-first name=c"},
		{"20/s rolling name=a", "30/2s rolling name=b", "50/m aligned name=c", "40/10s from-first name=d", "90/m burst=40 name=e"},
	} {
		t.Run(fmt.Sprint(limits), func(t *testing.T) {
			for round := range scaled(6, 2) {
				phasesUnderConcurrency(t, limits, uint64(round))
			}
		})
	}
}

func phasesUnderConcurrency(t *testing.T, limits []string, seed uint64) {
	r := rand.New(rand.NewPCG(81, seed))
	set := setOf(t, limits...)
	g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, set)
	h := handleOf(t, g, "k")
	j := joinOf(t, h)
	model := refmodel.NewMulti(modelOf(set)[endpoint]...)
	phases := 40
	if coarse(set) {
		phases = 4 // the model is slow
	}
	for phase := range phases {
		var passed atomic.Int64
		together(4, func(i int) {
			ways := []func() bool{
				h.Allow, j.Allow, func() bool { return g.Allow("k", endpoint) }, func() bool { return h.TakeAt(c.Now(), 1).Allowed },
				func() bool { return g.Take("k", endpoint, 1).Allowed },
			}
			for n := i; ways[n%len(ways)](); n++ {
				passed.Add(1)
			}
		})
		passed.Add(int64(drain(h.Allow))) // what a rolled-back call hid for a moment
		want := int64(drain(func() bool { return model.TakeAt(c.Now(), 1).Allowed }))
		if coarse(set) {
			require.LessOrEqual(t, passed.Load(), want, "phase %d", phase)
			require.GreaterOrEqual(t, passed.Load(), want-2, "phase %d", phase)
		} else {
			require.Equal(t, want, passed.Load(), "phase %d", phase)
		}
		c.Advance(tick + time.Duration(r.Int64N(int64(600*time.Millisecond))))
	}
}

// coarse reports whether some limit's tokens share times.
func coarse(set policy.Set) bool {
	for _, l := range set[0].Limits {
		if l.Window == policy.Rolling && l.Tokens > 1024 {
			return true
		}
	}
	return false
}

// Refunds in between: in the end nothing that passed is forgotten, and nothing that
// was given back is lost.
func TestG4WindowsRefundsUnderConcurrency(t *testing.T) {
	for _, kind := range []string{" aligned", " aligned skew=1s", " from-first", " rolling"} {
		for range scaled(10, 3) {
			g, _, h := syncedGate(t, "1000/h name=w"+kind)
			var kept atomic.Int64
			together(4, func(i int) {
				r := rand.New(rand.NewPCG(82, uint64(i)))
				for range 150 {
					n := 1 + r.Int64N(2)
					d := h.Take(n)
					switch {
					case !d.Allowed:
					case r.IntN(2) == 0:
						h.Refund(d)
					default:
						kept.Add(n)
					}
				}
			})
			require.Equal(t, kept.Load(), usedOf(g, h), kind)
		}
	}
}

// Kinds change under takers while the clock stands: nothing passes beyond the largest
// capacity, for a key that is there, one that comes, and one that has a handle.
func TestG9ChangeOfKindWhileTaking(t *testing.T) {
	for range scaled(15, 4) {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "200/h name=a")
		h := handleOf(t, g, "pinned")
		names := []string{"there", "new"}
		g.Take("there", endpoint, 1)
		var admitted [3]atomic.Int64
		admitted[0].Store(1)
		together(4, func(i int) {
			if i == 3 {
				for j := range 40 {
					kind := []string{" rolling", " aligned", "", " from-first", " rolling skew=1s", " aligned skew=1s"}[j%6]
					limits := []string{fmt.Sprintf("%d/h name=a%s", 200-j%3, kind)}
					if j%4 == 3 {
						limits = append(limits, "300/h name=b rolling")
					}
					require.NoError(t, g.Apply(setOf(t, limits...)))
				}
				return
			}
			for range 1500 {
				switch {
				case i < 2 && g.AllowN(names[i], endpoint, 1):
					admitted[i].Add(1)
				case i == 2 && h.AllowAt(c.Now(), 1):
					admitted[2].Add(1)
				}
			}
		})
		for i := range admitted {
			require.LessOrEqual(t, admitted[i].Load(), int64(200), "%d", i)
		}
	}
}

// Keys that are joined in any order by eight goroutines: nobody waits for ever, no
// limit is exceeded, and all that the tightest admits passes, but what denials are
// counted to have kept.
func TestJoinHammered(t *testing.T) {
	shapes := map[string][][]string{
		"one bucket each":  {{"1000/h"}, {"900/h"}, {"1100/h"}},
		"several limits":   {{"1000/h name=a", "2000/d name=b"}, {"900/h name=a", "5000/d name=b", "7000/d name=c"}, {"1100/h"}},
		"windows":          {{"1000/h aligned"}, {"900/h from-first"}, {"1100/h aligned skew=1s"}},
		"rolling":          {{"1000/h rolling"}, {"900/h rolling"}, {"1100/h rolling"}},
		"of every kind":    {{"1000/h rolling", "1000/h aligned"}, {"900/h"}, {"1100/h from-first", "2000/d"}},
		"tight and wide":   {{"9/h"}, {"9000/h"}, {"9000/h rolling"}},
		"in a single pair": {{"901/h"}, {"902/h"}},
	}
	for name, limits := range shapes {
		t.Run(name, func(t *testing.T) {
			for round := range scaled(20, 2) {
				hammerJoined(t, round, limits)
			}
		})
	}
}

func hammerJoined(t *testing.T, round int, limits [][]string) {
	g, c, hs := joinedGate(t, tickgate.Config{}, limits...)
	forth := joinOf(t, hs...)
	back := make([]tickgate.Handle, len(hs))
	for i, h := range hs {
		back[len(hs)-1-i] = h
	}
	joined := []tickgate.Group{forth, joinOf(t, back...), joinOf(t, hs[1], hs[0])}
	third := len(hs) > 2
	var taken [3]atomic.Int64
	together(8, func(i int) {
		r := rand.New(rand.NewPCG(uint64(round), uint64(i)))
		for range 250 {
			which := i % len(joined)
			n := 1 + r.Int64N(2)
			ok := false
			switch r.IntN(3) {
			case 0:
				ok = joined[which].AllowAt(c.Now(), n)
			case 1:
				ok = joined[which].TakeAt(c.Now(), n).Allowed
			default:
				d := joined[which].TakeAt(c.Now(), n)
				if ok = d.Allowed; ok && r.IntN(2) == 0 {
					joined[which].Refund(d)
					ok = false
				}
			}
			if ok {
				taken[0].Add(n)
				taken[1].Add(n)
				if third && which != 2 {
					taken[2].Add(n)
				}
			}
		}
	})
	// What is left in the tightest passes, one by one.
	for forth.AllowAt(c.Now(), 1) {
		for k := range hs {
			taken[k].Add(1)
		}
	}
	least := int64(1 << 62)
	for k, h := range hs {
		for _, l := range mustPolicies(t, limits[k]) {
			require.LessOrEqual(t, taken[k].Load(), l.Capacity(), "member %d of %v", k, limits)
			least = min(least, l.Capacity()-taken[k].Load())
		}
		require.GreaterOrEqual(t, h.Take(0).Remaining, int64(0))
	}
	const most = 2 // that a call takes
	kept := most * int64(g.Stats().RollbacksLost)
	require.LessOrEqual(t, least, kept, "%v: taken %d %d %d", limits, taken[0].Load(), taken[1].Load(), taken[2].Load())
}

func mustPolicies(t testing.TB, limits []string) []policy.Limit {
	return policyOf(t, endpoint, limits...).Limits
}
