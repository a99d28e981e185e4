package tickgate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// joinedGate is a gate with one endpoint for each list of limits, named e0, e1, …,
// and a handle of "k" at each.
func joinedGate(t testing.TB, cfg tickgate.Config, limits ...[]string) (*tickgate.Gate, *clock.Manual, []tickgate.Handle) {
	var set policy.Set
	for i, l := range limits {
		set = append(set, policyOf(t, fmt.Sprint("e", i), l...))
	}
	cfg.Wall = clock.NewManualWall(0)
	g, c := gateWith(t, cfg, set)
	var hs []tickgate.Handle
	for i := range limits {
		h, err := g.Handle("k", fmt.Sprint("e", i))
		require.NoError(t, err)
		hs = append(hs, h)
	}
	return g, c, hs
}

func joinOf(t testing.TB, hs ...tickgate.Handle) tickgate.Group {
	j, err := tickgate.Join(hs...)
	require.NoError(t, err)
	return j
}

// A group takes from all or from none, and says whose limit decided.
func TestJoinAllOrNothing(t *testing.T) {
	for _, kind := range []string{"", " aligned", " from-first", " rolling"} {
		_, c, hs := joinedGate(t, tickgate.Config{},
			[]string{"10/h" + kind + " name=session"}, []string{"6/h" + kind + " name=account", "20/h name=day"}, []string{"8/h" + kind + " name=firm"})
		for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
			j := joinOf(t, hs[order[0]], hs[order[1]], hs[order[2]])
			account := map[int]int{0: 1, 2: 2}[order[0]]
			d := j.TakeAt(c.Now(), 0)
			require.True(t, d.Allowed)
			require.Equal(t, "account", d.Limit)
			require.Equal(t, account, d.Member)
			before := hs[1].Take(0).Remaining
			d = j.TakeAt(c.Now(), 2)
			require.True(t, d.Allowed)
			require.Equal(t, before-2, d.Remaining)
			require.Equal(t, account, d.Member)
			d = j.TakeAt(c.Now(), before-1)
			require.False(t, d.Allowed)
			require.Equal(t, tickgate.Limited, d.Reason)
			require.Equal(t, "account", d.Limit)
			require.Equal(t, account, d.Member)
			require.False(t, j.AllowAt(c.Now(), before-1))
		}
		require.Equal(t, []int64{6, 2, 4}, []int64{hs[0].Take(0).Remaining, hs[1].Take(0).Remaining, hs[2].Take(0).Remaining})
	}
}

// Each member is named with its own limit when it is the one that denies.
func TestJoinMemberAndLimit(t *testing.T) {
	_, c, hs := joinedGate(t, tickgate.Config{}, []string{"9/s name=a"}, []string{"9/m aligned name=b"}, []string{"9/h rolling name=c"}, []string{"9/m from-first name=d"})
	j := joinOf(t, hs...)
	for i, h := range hs {
		d := h.TakeAt(c.Now(), 9)
		require.True(t, d.Allowed)
		deny := j.TakeAt(c.Now(), 1)
		require.Equal(t, tickgate.Limited, deny.Reason)
		require.Equal(t, i, deny.Member)
		require.Equal(t, string(rune('a'+i)), deny.Limit)
		require.Zero(t, deny.Remaining)
		costly := j.TakeEachAt(c.Now(), 10, 0, 0, 0)
		require.Equal(t, tickgate.TooCostly, costly.Reason)
		require.Equal(t, "a", costly.Limit)
		require.Zero(t, costly.Member)
		h.Refund(d)
	}
	require.True(t, j.TakeAt(c.Now(), 9).Allowed)
	// The longest decides.
	d := j.TakeAt(c.Now(), 1)
	require.Equal(t, 2, d.Member)
	require.Equal(t, "c", d.Limit)
	require.Equal(t, time.Hour, d.RetryAfter)
}

func TestJoinRefuses(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h"}, []string{"10/h"}, []string{"10/h"}, []string{"10/h"}, []string{"10/h"},
		[]string{"10/h"}, []string{"10/h"}, []string{"10/h"}, []string{"10/h"})
	_, _, foreign := joinedGate(t, tickgate.Config{}, []string{"10/h"})
	again, err := g.Handle("k", "e0")
	require.NoError(t, err)
	released, err := g.Handle("other", "e0")
	require.NoError(t, err)
	released.Release()
	for name, bad := range map[string][]tickgate.Handle{
		"none": nil, "nine": hs, "zero": {hs[0], {}}, "released": {hs[0], released}, "another gate's": {hs[0], foreign[0]},
		"twice": {hs[0], hs[1], hs[0]}, "two handles of one key": {hs[0], hs[1], again},
	} {
		j, err := tickgate.Join(bad...)
		require.Error(t, err, name)
		require.True(t, strings.HasPrefix(err.Error(), "tickgate: "), err.Error())
		require.NotContains(t, err.Error(), "\n", "%s: an error is one line", name)
		require.Equal(t, tickgate.Group{}, j)
		require.Equal(t, tickgate.BadRequest, j.TakeAt(c.Now(), 1).Reason)
		require.False(t, j.Allow())
		require.False(t, j.AllowAt(c.Now(), 1))
		j.Refund(tickgate.Decision{Allowed: true})
		j.SyncUsed(tickgate.Decision{Allowed: true}, 0, "", 1)
	}
	for i, h := range hs {
		require.Equal(t, int64(10), h.Take(0).Remaining, "%d", i)
	}
	j := joinOf(t, hs[:8]...)
	require.True(t, j.TakeAt(c.Now(), 4).Allowed)
	require.True(t, joinOf(t, hs[3]).AllowAt(c.Now(), 6), "a group of one")
	require.False(t, j.AllowAt(c.Now(), 1))
}

// Wrong numbers deny, are counted, and take nothing.
func TestJoinBadRequests(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h"}, []string{"10/h"})
	j := joinOf(t, hs...)
	for _, d := range []tickgate.Decision{
		j.TakeAt(c.Now(), -1), j.TakeUrgentAt(c.Now(), -1), j.TakeEachAt(c.Now()), j.TakeEachAt(c.Now(), 1), j.TakeEachAt(c.Now(), 1, 1, 1),
		j.TakeEachAt(c.Now(), 1, -1), j.TakeUrgentEachAt(c.Now(), -1, 1), j.TakeUrgentEachAt(c.Now(), 1),
	} {
		require.Equal(t, tickgate.BadRequest, d.Reason)
		require.Equal(t, tickgate.Never, d.RetryAfter)
	}
	require.False(t, j.AllowAt(c.Now(), -1))
	require.True(t, j.AllowAt(c.Now(), 0), "a look")
	require.Equal(t, uint64(9), g.Stats().BadRequests)
	require.Equal(t, int64(10), j.TakeAt(c.Now(), 0).Remaining)
}

// Zeros leave a key's limits out, but not what bars it. All zeros look.
func TestJoinTakeEach(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h name=a", "100/d name=x"}, []string{"3/h rolling name=b"}, []string{"10/h aligned reserve=4 name=c"})
	j := joinOf(t, hs...)
	d := j.TakeEachAt(c.Now(), 5, 3, 0)
	require.True(t, d.Allowed)
	require.Equal(t, "b", d.Limit)
	require.Equal(t, 1, d.Member)
	require.Equal(t, []int64{5, 0, 6}, []int64{hs[0].Take(0).Remaining, hs[1].Take(0).Remaining, hs[2].Take(0).Remaining})
	require.Equal(t, tickgate.Limited, j.TakeEachAt(c.Now(), 0, 1, 0).Reason)
	d = j.TakeEachAt(c.Now(), 1, 0, 2)
	require.True(t, d.Allowed, "the key without tokens is left out")
	require.NotEqual(t, 1, d.Member, "what is left out does not decide")
	require.Equal(t, tickgate.TooCostly, j.TakeEachAt(c.Now(), 0, 0, 7).Reason)
	require.True(t, j.TakeUrgentEachAt(c.Now(), 0, 0, 7).Allowed)
	require.False(t, j.TakeEachAt(c.Now(), 0, 0, 0).Allowed, "a look sees that the third has less than nothing for ordinary calls")
	d = j.TakeUrgentEachAt(c.Now(), 0, 0, 0)
	require.True(t, d.Allowed)
	require.Equal(t, 1, d.Member)
	hs[1].Ban(c.Now().Add(time.Second))
	d = j.TakeEachAt(c.Now(), 1, 0, 0)
	require.Equal(t, tickgate.Banned, d.Reason)
	require.Equal(t, 1, d.Member)
	require.Equal(t, time.Second, d.RetryAfter)
	c.Advance(time.Second)
	g.Block("k")
	require.Equal(t, tickgate.Blocked, j.TakeEachAt(c.Now(), 1, 0, 0).Reason)
	require.True(t, j.TakeUrgentEachAt(c.Now(), 1, 0, 0).Allowed)
}

// Asking again at exactly RetryAfter passes, and at no time before.
func TestJoinRetryExact(t *testing.T) {
	kinds := []string{"%d/s", "%d/s burst=3", "%d/s aligned", "%d/s rolling", "%d/s from-first", "%d/s aligned skew=100ms", "%d/s from-first skew=100ms", "%d/s rolling skew=70ms"}
	for round := range scaled(600, 120) {
		r := rand.New(rand.NewPCG(51, uint64(round)))
		var limits [][]string
		for range 2 + r.IntN(3) {
			var own []string
			for i := range 1 + r.IntN(2) {
				own = append(own, fmt.Sprintf(kinds[r.IntN(len(kinds))]+" name=l%d", 3+r.Int64N(5), i))
			}
			limits = append(limits, own)
		}
		_, c, hs := joinedGate(t, tickgate.Config{}, limits...)
		j := joinOf(t, hs...)
		for range 20 {
			n := 1 + r.Int64N(3)
			d := j.TakeAt(c.Now(), n)
			if d.Allowed {
				require.Zero(t, d.RetryAfter)
				hs[r.IntN(len(hs))].TakeAt(c.Now(), r.Int64N(2))
				c.Advance(time.Duration(r.Int64N(int64(300 * time.Millisecond))))
				continue
			}
			require.Equal(t, tickgate.Limited, d.Reason)
			require.Positive(t, d.RetryAfter)
			at := c.Now()
			c.Set(at.Add(d.RetryAfter - 1))
			require.False(t, j.TakeAt(c.Now(), n).Allowed, "%v, round %d: a nanosecond early of %v", limits, round, d.RetryAfter)
			c.Advance(1)
			again := j.TakeAt(c.Now(), n)
			require.True(t, again.Allowed, "%v, round %d: denied at %v, as told, for %v more", limits, round, d.RetryAfter, again.RetryAfter)
		}
	}
}

// A refund restores what was taken, from every key and of every kind.
func TestJoinRefund(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{},
		[]string{"10/h name=a", "20/h aligned name=b"}, []string{"10/h rolling name=c"}, []string{"10/h from-first name=d", "30/d name=e"})
	j, other := joinOf(t, hs...), joinOf(t, hs[1], hs[0])
	look := func() (left []int64) {
		for _, h := range hs {
			left = append(left, h.Take(0).Remaining)
		}
		return left
	}
	keep := j.TakeAt(c.Now(), 1)
	require.True(t, keep.Allowed)
	d, each := j.TakeAt(c.Now(), 3), j.TakeEachAt(c.Now(), 2, 0, 4)
	require.Equal(t, []int64{4, 6, 2}, look())
	other.Refund(d) // another group's
	hs[0].Refund(d) // a handle's
	j.Refund(hs[0].Take(0))
	j.Refund(tickgate.Decision{Allowed: true})
	j.Refund(j.TakeAt(c.Now(), 9)) // denied
	require.Equal(t, []int64{4, 6, 2}, look())
	j.Refund(each)
	require.Equal(t, []int64{6, 6, 6}, look())
	j.Refund(d)
	require.Equal(t, []int64{9, 9, 9}, look())
	require.Zero(t, g.Stats().BadRequests)
	one := hs[0].Take(2)
	j.Refund(one)
	require.Equal(t, []int64{7, 9, 9}, look(), "a handle's decision is not a group's")
}

// A group's decision that is given to a handle of some other key, be its number
// what it may, gives nothing.
func TestJoinRefundByAnyHandle(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 2}, "10/s")
	j := joinOf(t, handleOf(t, g, "member"))
	d := j.TakeAt(c.Now(), 5)
	require.True(t, d.Allowed)
	for i := range 6000 {
		c.Advance(time.Second)
		h := handleOf(t, g, fmt.Sprint("key ", i))
		require.True(t, h.AllowAt(c.Now(), 8))
		h.Refund(d)
		h.SyncUsed(d, "10/s", 0)
		require.Equal(t, int64(2), h.Take(0).Remaining, "key %d", i)
		h.Release()
	}
}

// A handle that is released under a group ends it; one that is only moved to
// another policy goes on.
func TestJoinOfReleasedHandle(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h"}, []string{"10/h"})
	j := joinOf(t, hs...)
	d := j.TakeAt(c.Now(), 3)
	hs[1].Release()
	require.False(t, j.Allow())
	require.False(t, j.AllowAt(c.Now(), 1))
	require.Equal(t, tickgate.BadRequest, j.TakeAt(c.Now(), 1).Reason)
	require.Equal(t, tickgate.BadRequest, j.TakeUrgentAt(c.Now(), 1).Reason)
	j.Refund(d)
	j.SyncUsed(d, 0, "10/h", 10)
	require.Equal(t, int64(7), hs[0].Take(0).Remaining, "nothing was taken of the other one")
	require.Equal(t, int64(7), g.Take("k", "e1", 0).Remaining)
}

// Apply moves a member to another policy, and back, and changes its limits.
func TestJoinFollowsApply(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{}, []string{"10/h name=a"}, []string{"20/h name=b"})
	j := joinOf(t, hs...)
	before := g.Policies()
	d := j.TakeAt(c.Now(), 4)
	require.True(t, d.Allowed)
	moved := policy.Set{before[0], policyOf(t, policy.DefaultEndpoint, "5/h rolling name=default")}
	require.NoError(t, g.Apply(moved))
	look := j.TakeAt(c.Now(), 0)
	require.Equal(t, "default", look.Limit)
	require.Equal(t, 1, look.Member)
	require.Equal(t, int64(5), look.Remaining)
	require.True(t, j.AllowAt(c.Now(), 5))
	require.False(t, j.Allow())
	j.Refund(d) // from before the change: nothing
	require.Equal(t, int64(1), hs[0].Take(0).Remaining)
	require.NoError(t, g.Apply(before[:1]))
	require.Equal(t, tickgate.NoPolicy, j.TakeAt(c.Now(), 1).Reason)
	require.False(t, j.Allow())
	require.NoError(t, g.Apply(before))
	look = j.TakeAt(c.Now(), 0)
	require.Equal(t, "a", look.Limit)
	require.Equal(t, int64(1), look.Remaining)
	require.Equal(t, int64(16), hs[1].Take(0).Remaining, "what was used there before")
	require.NoError(t, g.Apply(policy.Set{policyOf(t, "e0", "12/h aligned name=a"), before[1]}))
	require.Equal(t, int64(3), j.TakeAt(c.Now(), 0).Remaining)
}

// A venue's count corrects the member that it is of, and no other.
func TestJoinSyncUsed(t *testing.T) {
	g, c, hs := joinedGate(t, tickgate.Config{},
		[]string{"100/h name=a", "200/h aligned name=b"}, []string{"100/h rolling name=a"}, []string{"100/h from-first name=a"})
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		j := joinOf(t, hs[order[0]], hs[order[1]], hs[order[2]])
		for member, k := range order {
			before := hs[k].Take(0).Remaining
			d := j.TakeAt(c.Now(), 1)
			require.True(t, j.TakeAt(c.Now(), 2).Allowed)
			j.SyncUsed(d, member, "a", 100-before+1+5)
			require.Equal(t, before-3-5, hs[k].Take(0).Remaining, "member %d", member)
			j.SyncUsed(d, member, "a", 100-before+1+5)
			require.Equal(t, before-3-5, hs[k].Take(0).Remaining, "the same again")
			j.SyncUsed(d, 3, "a", 100)
			j.SyncUsed(d, -1, "a", 100)
			j.SyncUsed(d, member, "none", 100)
			j.SyncUsed(tickgate.Decision{}, member, "a", 100)
			j.SyncUsed(j.TakeAt(c.Now(), 0), member, "a", 100)
			hs[k].SyncUsed(d, "a", 100) // of a group, not of the handle
			require.Equal(t, before-3-5, hs[k].Take(0).Remaining)
			for i, other := range hs {
				if i != k {
					require.GreaterOrEqual(t, other.Take(0).Remaining, before-40)
				}
			}
		}
	}
	bad := g.Stats().BadRequests
	j := joinOf(t, hs...)
	j.SyncUsed(j.TakeAt(c.Now(), 1), 0, "a", -1)
	require.Equal(t, bad+1, g.Stats().BadRequests)
}

func TestJoinSyncUsedWhileTaking(t *testing.T) {
	for _, l := range counting {
		for round := range scaled(20, 4) {
			g, c, h := syncedGate(t, l)
			other, err := g.Handle("other", endpoint)
			require.NoError(t, err)
			j := joinOf(t, other, h)
			take := func() tickgate.Decision { return j.TakeAt(c.Now(), 1) }
			syncWhileTaking(t, l, uint64(round), g, h, take, func(d tickgate.Decision, used int64) { j.SyncUsed(d, 1, "w", used) })
		}
	}
}

// A take that finds a member released, and its slot another key's, gives back what it took
// of the others.
func TestJoinOfOneThatGoes(t *testing.T) {
	const capacity = 1_000_000_000
	g, _ := gateOf(t, tickgate.Config{MaxKeys: 2}, fmt.Sprintf("%d/d", capacity))
	stays := handleOf(t, g, "stays")
	allowed := int64(0)
	for range scaled(4000, 300) {
		goes, err := g.Handle("goes", endpoint)
		require.NoError(t, err)
		group := joinOf(t, stays, goes)
		var begun, stop atomic.Bool
		var done sync.WaitGroup
		done.Go(func() {
			defer begun.Store(true)
			for !stop.Load() && group.AllowAt(0, 1) {
				allowed++
				begun.Store(true)
			}
		})
		for !begun.Load() {
			runtime.Gosched()
		}
		goes.Release()
		g.Allow("another", endpoint) // takes its slot
		stop.Store(true)
		done.Wait()
	}
	require.LessOrEqual(t, capacity-allowed-stays.Take(0).Remaining, int64(g.Stats().RollbacksLost))
}
