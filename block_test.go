package tickgate_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// blockSet has a policy of every shape that is decided in a way of its own, and
// one for endpoints that no policy names.
func blockSet(t testing.TB) policy.Set {
	return policy.Set{
		policyOf(t, endpoint, "1000/m"),
		policyOf(t, "pair", "1000/m name=a", "2000/m name=b"),
		policyOf(t, "three", "1000/m name=a", "2000/m aligned name=b", "3000/m rolling name=c"),
		policyOf(t, "aligned", "1000/m aligned"),
		policyOf(t, "from-first", "1000/m from-first"),
		policyOf(t, "rolling", "1000/m rolling"),
		policyOf(t, "none", "unlimited"),
		policyOf(t, policy.DefaultEndpoint, "1000/m reserve=10"),
	}
}

var blockEndpoints = []string{
	endpoint, "pair", "three", "aligned", "from-first", "rolling", "none", "unlisted", strings.Repeat("u", 256), policy.DefaultEndpoint,
}

// blockKeys are apikeys of every way of being stored: in one, two and three words
// of a slot, and beyond it.
var blockKeys = []string{"k", "12345678", "123456789", "a-key-of-24-bytes-length", "a-key-of-25-bytes-length!", strings.Repeat("k", 256)}

// requireAll asks in every way there is, for one token or a look.
func requireAll(t *testing.T, g *tickgate.Gate, c clock.Clock, k string, want tickgate.Reason) {
	t.Helper()
	pass := want == tickgate.OK
	for _, e := range blockEndpoints {
		at := fmt.Sprintf("%.10s of %d at %.10s of %d", k, len(k), e, len(e))
		require.Equal(t, pass, g.Allow(k, e), at)
		require.Equal(t, pass, g.AllowN(k, e, 2), at)
		for _, d := range []tickgate.Decision{
			g.Take(k, e, 1), g.Take(k, e, 0), g.Endpoint(e).Take(k, 1), g.Endpoint(e).TakeAt(c.Now(), k, 1),
		} {
			require.Equal(t, want, d.Reason, at)
			if !pass {
				require.Equal(t, tickgate.Never, d.RetryAfter)
			}
		}
		require.Equal(t, pass, g.Endpoint(e).Allow(k), at)
		out := make([]tickgate.Decision, 1)
		g.TakeBatch(c.Now(), []tickgate.Request{{APIKey: k, Endpoint: e, N: 1}}, out)
		require.Equal(t, want, out[0].Reason, at)
		h, err := g.Handle(k, e)
		require.NoError(t, err)
		require.Equal(t, pass, h.Allow(), at)
		require.Equal(t, pass, h.AllowAt(c.Now(), 2), at)
		require.Equal(t, want, h.Take(1).Reason, at)
		require.Equal(t, want, h.Take(0).Reason, at)
		require.Equal(t, want, h.TakeCostsAt(c.Now(), 1).Reason, at)
		require.True(t, h.TakeUrgentAt(c.Now(), 1).Allowed, at)
		_, err = h.ReserveAt(c.Now(), 1)
		if pass {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, tickgate.ErrBlocked)
			require.ErrorIs(t, h.Wait(t.Context(), 1), tickgate.ErrBlocked)
		}
		j, err := tickgate.Join(h)
		require.NoError(t, err)
		require.Equal(t, pass, j.Allow(), at)
		require.Equal(t, want, j.TakeAt(c.Now(), 1).Reason, at)
		require.Equal(t, want, j.TakeEachAt(c.Now(), 0).Reason, at)
		require.True(t, j.TakeUrgentAt(c.Now(), 1).Allowed, at)
		h.Release()
	}
}

// Block stops an apikey that is there already, and one that comes later, at every
// endpoint, named or not, in every way in. Urgent calls pass. After Unblock all do.
func TestBlockOneApikey(t *testing.T) {
	for _, seen := range []bool{true, false} {
		for _, k := range blockKeys {
			g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, blockSet(t))
			if seen {
				requireAll(t, g, c, k, tickgate.OK)
			}
			g.Block(k)
			requireAll(t, g, c, k, tickgate.Blocked)
			requireAll(t, g, c, "another", tickgate.OK)
			if len(k) > 1 {
				requireAll(t, g, c, k[:len(k)-1], tickgate.OK)
			}
			g.Block(k) // twice is once
			g.Unblock(k)
			requireAll(t, g, c, k, tickgate.OK)
			g.Unblock(k)
			requireAll(t, g, c, k, tickgate.OK)
		}
	}
}

// Block of "" stops everybody, seen or not, and its end leaves those blocked who
// were blocked by name.
func TestBlockEveryone(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, blockSet(t))
	requireAll(t, g, c, "seen", tickgate.OK)
	g.Block("named")
	g.Block("")
	for _, k := range []string{"seen", "new", "named", strings.Repeat("x", 256)} {
		requireAll(t, g, c, k, tickgate.Blocked)
	}
	g.Unblock("seen") // of somebody who was not blocked by name
	requireAll(t, g, c, "seen", tickgate.Blocked)
	g.Unblock("")
	requireAll(t, g, c, "seen", tickgate.OK)
	requireAll(t, g, c, "named", tickgate.Blocked)
	g.Block("")
	g.Unblock("named")
	requireAll(t, g, c, "named", tickgate.Blocked)
	g.Unblock("")
	requireAll(t, g, c, "named", tickgate.OK)
}

// Nothing that is applied while everybody is blocked opens a way: not another limit,
// not an endpoint that is named for the first time, not one that comes back.
func TestBlockEveryoneOverApply(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "1000/m")
	set := g.Policies()
	g.Block("")
	require.NoError(t, g.Apply(blockSet(t)))
	requireAll(t, g, c, "k", tickgate.Blocked)
	require.NoError(t, g.Apply(set))
	require.False(t, g.Allow("k", endpoint))
	require.NoError(t, g.Apply(blockSet(t)))
	requireAll(t, g, c, "k", tickgate.Blocked)
	require.NoError(t, g.Apply(set))
	g.Unblock("")
	require.NoError(t, g.Apply(blockSet(t)))
	requireAll(t, g, c, "k", tickgate.OK)
}

// A key that was blocked under one policy is blocked under the next.
func TestBlockOneApikeyOverApply(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, blockSet(t))
	requireAll(t, g, c, "k", tickgate.OK)
	h := handleOf(t, g, "k")
	g.Block("k")
	for _, limit := range []string{"5/s", "7/m aligned", "9/h rolling", "3/s from-first", "1000/m"} {
		set := append(setOf(t, limit), blockSet(t)[1:]...)
		require.NoError(t, g.Apply(set))
		require.Equal(t, tickgate.Blocked, h.Take(1).Reason)
		require.False(t, h.Allow())
		require.False(t, g.Allow("k", endpoint))
	}
	require.NoError(t, g.Apply(blockSet(t)[1:])) // the handle moves to "default"
	require.Equal(t, tickgate.Blocked, h.Take(1).Reason)
	require.False(t, h.Allow())
}

// A denial by a block takes nothing, and what was used stays used.
func TestBlockKeepsWhatIsUsed(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	h := handleOf(t, g, "k")
	require.True(t, h.AllowAt(0, 4))
	for _, who := range []string{"k", ""} {
		g.Block(who)
		require.Zero(t, drain(h.Allow))
		g.Unblock(who)
		require.Equal(t, int64(6), h.Take(0).Remaining)
	}
}

// A block outlives the handle and the key: evicted and brought in again, it is
// blocked still.
func TestBlockSurvivesEviction(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{MaxKeys: 10}, "10/s")
	require.True(t, g.Allow("k", endpoint))
	g.Block("k")
	for i := range 100 {
		c.Advance(time.Second)
		require.True(t, g.Allow(fmt.Sprint("passer-by ", i), endpoint))
		require.Equal(t, tickgate.Blocked, g.Take("k", endpoint, 1).Reason)
		require.False(t, g.Allow("k", endpoint))
	}
	g.Unblock("k")
	require.True(t, g.Allow("k", endpoint))
}

// No call that began after Block returned passes, and every one that began after
// Unblock returned does, while keys of the same apikey come in at new endpoints, by
// name, by handle and by urgent calls, and others push them out.
func TestBlockWhileKeysComeAndGo(t *testing.T) {
	for _, who := range []string{"k", ""} {
		g, c := gateWith(t, tickgate.Config{MaxKeys: 20}, policy.Set{policyOf(t, policy.DefaultEndpoint, "1000000000/s burst=1000000000")})
		var stop atomic.Bool
		var last atomic.Int64
		endpoints := keysOf(60)
		check := func(want bool, round int) {
			for i := range 40 {
				e := endpoints[(round*7+i)%len(endpoints)]
				if got := g.Allow("k", e); got != want {
					t.Errorf("blocked %v, and %v for a new key", !want, got)
					stop.Store(true)
				}
			}
		}
		together(4, func(i int) {
			switch i {
			case 0:
				defer stop.Store(true)
				for round := 0; round < scaled(400, 60) && !stop.Load(); round++ {
					g.Block(who)
					last.Store(int64(2*round + 1))
					check(false, round)
					last.Store(0)
					g.Unblock(who)
					check(true, round+1)
				}
			case 1: // brings keys in without taking, and takes urgently
				for j := 0; !stop.Load(); j++ {
					h, err := g.Handle("k", endpoints[j%len(endpoints)])
					if err != nil {
						continue
					}
					h.TakeUrgentAt(c.Now(), 1)
					began := last.Load()
					if h.Allow() && began != 0 && last.Load() == began {
						t.Error("a handle passed a block")
						stop.Store(true)
					}
					h.Release()
				}
			default:
				for j := 0; !stop.Load(); j++ {
					c.Advance(time.Millisecond)
					began := last.Load()
					if g.Allow("k", endpoints[j*i%len(endpoints)]) && began != 0 && last.Load() == began {
						t.Error("a call passed a block")
						stop.Store(true)
					}
					g.Allow(fmt.Sprint("other", j%50), "x")
				}
			}
		})
	}
}

// A ban denies everything, urgent calls too, and ends exactly when it was to.
func TestBanEndsExactly(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0)}, blockSet(t))
	for _, e := range blockEndpoints {
		h, err := g.Handle("k", e)
		require.NoError(t, err)
		j, err := tickgate.Join(h)
		require.NoError(t, err)
		until := c.Now().Add(3 * time.Second)
		h.Ban(until)
		for _, at := range []clock.Time{c.Now(), until - 1} {
			c.Set(at)
			for _, d := range []tickgate.Decision{
				h.Take(1), h.Take(0), h.TakeUrgentAt(at, 1), h.TakeCostsAt(at, 1), g.Take("k", e, 1), g.Take("k", e, 0),
				j.TakeAt(at, 1), j.TakeUrgentAt(at, 1), j.TakeEachAt(at, 0),
			} {
				require.Equal(t, tickgate.Banned, d.Reason, e)
				require.Equal(t, until.Sub(at), d.RetryAfter, e)
			}
			require.False(t, h.Allow())
			require.False(t, h.AllowAt(at, 1))
			require.False(t, g.Allow("k", e))
			require.False(t, j.Allow())
			_, err := h.ReserveAt(at, 1)
			require.ErrorIs(t, err, tickgate.ErrBanned)
		}
		c.Set(until)
		require.True(t, h.Take(1).Allowed)
		require.True(t, h.Allow())
		require.True(t, g.Allow("k", e))
		require.True(t, j.Allow())
		require.True(t, g.Allow("another", e))
		h.Release()
	}
}

// Of bans the longest counts, in whatever order they come; a block and a ban are
// two things.
func TestBanLongestCounts(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "1000/s")
	h := handleOf(t, g, "k")
	start := c.Now()
	h.Ban(start.Add(5 * time.Second))
	h.Ban(start.Add(2 * time.Second))
	require.Equal(t, 5*time.Second, h.Take(1).RetryAfter)
	h.Ban(start.Add(7 * time.Second))
	require.Equal(t, 7*time.Second, h.Take(1).RetryAfter)
	g.Block("k")
	g.Unblock("k")
	require.Equal(t, tickgate.Banned, h.Take(1).Reason)
	g.Block("k")
	c.Advance(7 * time.Second)
	require.Equal(t, tickgate.Blocked, h.Take(1).Reason)
	require.True(t, h.TakeUrgentAt(c.Now(), 1).Allowed)
	g.Unblock("k")
	require.True(t, h.Allow())
	h.Ban(c.Now()) // over at once
	require.True(t, h.Allow())
	h.Ban(start) // long over
	require.True(t, h.Allow())
	h.Ban(c.Now().Add(time.Second)) // after one that ended
	require.Equal(t, time.Second, h.Take(1).RetryAfter)
}

// A ban outlives Release, and a thousand keys that want the room.
func TestBanSurvivesReleaseAndEviction(t *testing.T) {
	for _, e := range []string{endpoint, "unlisted"} {
		g, c := gateWith(t, tickgate.Config{MaxKeys: 20}, policy.Set{policyOf(t, endpoint, "10/s"), policyOf(t, policy.DefaultEndpoint, "10/s")})
		h, err := g.Handle("banned", e)
		require.NoError(t, err)
		until := c.Now().Add(90 * time.Second)
		h.Ban(until)
		h.Release()
		for i := 0; c.Now() < until-clock.Time(time.Second); i++ {
			c.Advance(100 * time.Millisecond)
			require.True(t, g.Allow(fmt.Sprint("passer-by ", i), e))
		}
		c.Set(until - 1)
		d := g.Take("banned", e, 1)
		require.Equal(t, tickgate.Banned, d.Reason)
		require.Equal(t, time.Duration(1), d.RetryAfter)
		c.Advance(1)
		require.True(t, g.Allow("banned", e))
		c.Advance(time.Second)
		for i := range 20 { // it may go now: there is room for twenty others that stay
			_, err := g.Handle(fmt.Sprint("pinned ", i), e)
			require.NoError(t, err)
		}
	}
}

// A caller who is late is told the wait from its own time.
func TestBanOfLateCaller(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s")
	h := handleOf(t, g, "k")
	require.True(t, h.Allow())
	h.Ban(c.Now().Add(5 * time.Second))
	late := c.Now().Add(-2 * time.Second)
	for _, d := range []tickgate.Decision{h.TakeAt(late, 1), h.TakeUrgentAt(late, 1), g.TakeAt(late, "k", endpoint, 1)} {
		require.Equal(t, tickgate.Banned, d.Reason)
		require.Equal(t, 7*time.Second, d.RetryAfter)
	}
}
