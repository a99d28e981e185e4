package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/refmodel"
	"github.com/tickgate/tickgate/policy"
)

// kinds are the ways to count, as a limit's form ends.
var kinds = []string{"", " aligned", " from-first", " rolling"}

// 8 of 10 used; 5 of them leave 0, and 10 again leave 2: whatever the windows are,
// and however often that goes on.
func TestG9ChangeOfWindows(t *testing.T) {
	for _, from := range kinds {
		for _, to := range kinds {
			t.Run(fmt.Sprintf("from%s to%s", from, to), func(t *testing.T) {
				g, _ := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(1)}, "10/h name=a"+from)
				h := handleOf(t, g, "k")
				require.True(t, h.AllowAt(0, 8))
				for range 3 {
					require.NoError(t, g.Apply(setOf(t, "5/h name=a"+to)))
					require.Equal(t, int64(0), left(g, "k"))
					require.False(t, h.Allow())
					require.NoError(t, g.Apply(setOf(t, "10/h name=a"+from)))
					require.Equal(t, int64(2), left(g, "k"))
				}
				require.NoError(t, g.Apply(setOf(t, "10/h name=a"+to)))
				require.Equal(t, 2, drain(h.Allow))
			})
		}
	}
}

// What is used far beyond a small capacity is used still when it is large again.
func TestG9ChangeOfWindowsKeepsMuchUsed(t *testing.T) {
	for _, from := range kinds {
		for _, to := range kinds {
			t.Run(fmt.Sprintf("from%s to%s", from, to), func(t *testing.T) {
				g, _ := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(1)}, "3000/h name=a"+from)
				require.True(t, g.AllowN("k", endpoint, 2000))
				require.NoError(t, g.Apply(setOf(t, "1/h name=a"+to)))
				require.NoError(t, g.Apply(setOf(t, "3000/h name=a"+from)))
				require.LessOrEqual(t, left(g, "k"), int64(1000))
				require.Greater(t, left(g, "k"), int64(990)) // in groups, of a rolling one
			})
		}
	}
}

// Every field of a window at its own: nothing refills because of it.
func TestG9ChangeOfWindowFields(t *testing.T) {
	for _, kind := range kinds[1:] {
		for _, to := range []string{
			"10/2h name=a" + kind, "10/30m name=a" + kind, "10/h name=a reserve=1" + kind, "10/h name=a skew=1s" + kind,
			"1000/h name=a" + kind, "2000/h name=a" + kind, "10/h name=a" + kind,
		} {
			t.Run(to, func(t *testing.T) {
				g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(time.Minute)}, "10/h name=a"+kind)
				h := handleOf(t, g, "k")
				require.True(t, h.AllowAt(c.Now(), 4))
				c.Advance(time.Minute)
				require.True(t, h.AllowAt(c.Now(), 4))
				for range 3 {
					require.NoError(t, g.Apply(setOf(t, to)))
					require.NoError(t, g.Apply(setOf(t, "10/h name=a"+kind)))
					require.Equal(t, int64(2), left(g, "k"))
				}
				require.NoError(t, g.Apply(setOf(t, to)))
				c.Advance(3 * time.Hour)
				require.Greater(t, drain(h.Allow), 8)
			})
		}
	}
}

// live is a gate whose limits change while four goroutines take, and the exact model
// of it.
type live struct {
	*testing.T
	r     *rand.Rand
	g     *tickgate.Gate
	c     *clock.Manual
	h     tickgate.Handle
	model *refmodel.Multi
	made  [4]atomic.Int64 // decisions of each taker
	now   string          // what is done, for messages
}

// step applies sets one after the other, all at one time, and lets every taker go on
// before each and after the last. What passes is at most what the model has left
// under one of the sets, and what it has left under the last is left in the end.
func (v *live) step(sets []policy.Set) {
	v.Helper()
	now := v.c.Now()
	most := v.model.Peek(now).Remaining
	for _, s := range sets {
		v.model.Apply(now, modelOf(s)[endpoint]...)
		most = max(most, v.model.Peek(now).Remaining)
	}
	var admitted, over atomic.Int64
	together(5, func(i int) {
		if i == 4 {
			defer over.Store(1)
			v.progress()
			for i, s := range sets {
				if i == 0 {
					before := v.g.Policies()
					require.Error(v, v.g.Apply(append(s.Clone(), policy.Policy{Endpoint: "bad"})))
					require.True(v, before.Equal(v.g.Policies()))
					v.progress()
				}
				require.NoError(v, v.g.Apply(s))
				v.progress()
			}
			return
		}
		for j := 0; over.Load() == 0; j++ {
			n := int64(1 + j%2)
			ok := false
			switch (i + j) % 3 {
			case 0:
				ok = v.h.AllowAt(now, n)
			case 1:
				ok = v.h.TakeAt(now, n).Allowed
			default:
				ok = v.g.TakeAt(now, "k", endpoint, n).Allowed
			}
			if ok {
				admitted.Add(n)
			}
			v.made[i].Add(1)
			runtime.Gosched()
		}
	})
	require.LessOrEqual(v, admitted.Load(), most, "%s", v.now)
	v.model.Charge(now, admitted.Load())
	got, want := v.h.TakeAt(now, 0).Remaining, v.model.Peek(now).Remaining
	require.LessOrEqual(v, got, want, "%s: more is left than is there", v.now)
	require.GreaterOrEqual(v, got, want-1, "%s: less is left than is there", v.now) // rates round up
}

// progress waits until every taker has decided something.
func (v *live) progress() {
	for i := range v.made {
		for was := v.made[i].Load(); v.made[i].Load() == was; {
			runtime.Gosched()
		}
	}
}

func newLive(t *testing.T, seed uint64, set policy.Set) *live {
	v := &live{T: t, r: rand.New(rand.NewPCG(seed, 5))}
	v.g, v.c = gateWith(t, tickgate.Config{MaxKeys: 16, Wall: clock.NewManualWall(0)}, set)
	v.h = handleOf(t, v.g, "k")
	v.model = refmodel.NewMulti(modelOf(set)[endpoint]...)
	v.model.Peek(v.c.Now())
	return v
}

// run changes the policies times times, one to three at one moment.
func (v *live) run(times int, next func() policy.Set) {
	for times > 0 {
		var sets []policy.Set
		for range min(times, 1+v.r.IntN(3)) {
			sets = append(sets, next())
		}
		times -= len(sets)
		v.now = fmt.Sprintf("at %v: %v", v.c.Now(), sets)
		v.step(sets)
		if v.r.IntN(4) > 0 {
			v.c.Advance(tick + time.Duration(v.r.Int64N(int64(400*time.Millisecond))))
		}
	}
	for i := range v.made {
		require.Greater(v, v.made[i].Load(), int64(times))
	}
}

// All pairs of windows, one capacity.
func TestApplyLiveWindows(t *testing.T) {
	for i, from := range kinds {
		for j, to := range kinds {
			t.Run(fmt.Sprintf("from%s to%s", from, to), func(t *testing.T) {
				sets := []policy.Set{setOf(t, "20/s name=a"+from), setOf(t, "20/s name=a"+to)}
				k := 0
				newLive(t, uint64(4*i+j), sets[0]).run(scaled(120, 40), func() policy.Set { k++; return sets[k%2] })
			})
		}
	}
}

// All pairs, the capacity goes down and up.
func TestApplyLiveCapacities(t *testing.T) {
	for i, from := range kinds {
		for j, to := range kinds {
			t.Run(fmt.Sprintf("from%s to%s", from, to), func(t *testing.T) {
				v := newLive(t, uint64(4*i+j), setOf(t, "20/s name=a"+from))
				v.run(scaled(120, 40), func() policy.Set {
					return setOf(t, fmt.Sprintf("%d/s name=a%s", []int{1, 5, 10, 20, 40, 100}[v.r.IntN(6)], []string{from, to}[v.r.IntN(2)]))
				})
			})
		}
	}
}

// Rates, reserves and skews of one kind.
func TestApplyLiveFields(t *testing.T) {
	for i, kind := range kinds {
		for what, forms := range map[string][]string{
			"rate":    {"20/s", "10/s burst=20", "1/s burst=20", "50000/s burst=20", "20/h"},
			"reserve": {"20/s", "20/s reserve=1", "20/s reserve=5", "20/s reserve=19"},
			"skew":    {"20/s", "20/s skew=1ms", "20/s skew=50ms", "20/s skew=200ms"},
		} {
			if what == "rate" && kind != "" || what == "skew" && kind == "" {
				continue
			}
			t.Run(what+kind, func(t *testing.T) {
				v := newLive(t, uint64(i), setOf(t, "20/s name=a"+kind))
				v.run(scaled(200, 60), func() policy.Set {
					return setOf(t, forms[v.r.IntN(len(forms))]+" name=a"+kind)
				})
			})
		}
	}
}

// Limits come and go beside the one that decides, and endpoints beside the one that
// is asked; the order changes.
func TestApplyLiveLimitsAndEndpoints(t *testing.T) {
	for seed := range uint64(scaled(6, 2)) {
		v := newLive(t, seed, setOf(t, "20/s name=a"))
		more := []string{"1000/s name=b", "2000/s name=b rolling", "1000/s name=c aligned", "900/s name=d from-first", "500/s name=e rolling skew=1ms", "777/s name=f", "1111/s name=g rolling"}
		v.run(scaled(200, 60), func() policy.Set {
			limits := []string{"20/s name=a" + kinds[v.r.IntN(4)]}
			names := map[byte]bool{}
			for range v.r.IntN(6) {
				if l := more[v.r.IntN(len(more))]; !names[l[len("1000/s name=")-1]] {
					names[l[len("1000/s name=")-1]] = true
					limits = append(limits, l)
				}
			}
			v.r.Shuffle(len(limits), func(i, j int) { limits[i], limits[j] = limits[j], limits[i] })
			set := setOf(t, limits...)
			for i := range v.r.IntN(3) {
				set = append(set, policyOf(t, fmt.Sprint("other-", i), "1/s"))
			}
			return set
		})
	}
}

// No taker stands still for the walk over the keys.
func TestApplyLiveTakersGoOnDuringApply(t *testing.T) {
	keys := keysOf(scaled(50_000, 5000))
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2 * len(keys)}, "1000/h name=a")
	for _, k := range keys {
		require.True(t, g.Allow(k, endpoint))
	}
	h := handleOf(t, g, keys[0])
	var made [4]atomic.Int64
	var during [4]int64
	var over atomic.Bool
	together(5, func(i int) {
		if i < 4 {
			for j := 0; !over.Load(); j++ {
				h.AllowAt(c.Now(), 1)
				g.Allow(keys[j%len(keys)], endpoint)
				made[i].Add(1)
			}
			return
		}
		defer over.Store(true)
		// Until each went on in the midst of an Apply, however the system runs them.
		for j, behind := 0, 4; behind > 0; j++ {
			var was [4]int64
			for k := range made {
				was[k] = made[k].Load()
			}
			require.NoError(t, g.Apply(setOf(t, fmt.Sprintf("%d/h name=a%s", 1000+j%2, kinds[j%4]))))
			behind = 0
			for k := range made {
				if during[k] += made[k].Load() - was[k]; during[k] == 0 {
					behind++
				}
			}
			require.Less(t, j, 1000, "some taker never went on: %v", during)
		}
	})
}
