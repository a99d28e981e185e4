package tickgate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// Who waits is timed anew by a change, as is who comes then.
func TestFollowWaitersAreRetimed(t *testing.T) {
	inBubble(t, setOf(t, "1/s name=a"), func(t *testing.T, q *queue) {
		require.True(t, q.h.Allow())
		q.wait(q.Context(), "1 s", q.h, 1)
		q.wait(q.Context(), "2 s", q.h, 1)
		require.NoError(t, q.Apply(setOf(t, "1000/s burst=1 name=a")))
		q.wait(q.Context(), "new", q.h, 1)
		q.until(time.Second)
		q.expect(ended{"1 s", time.Millisecond, nil}, ended{"2 s", 2 * time.Millisecond, nil}, ended{"new", 3 * time.Millisecond, nil})
		require.Equal(t, int64(1), left(q.Gate, "k"))
	})
}

// A lower rate: who has time waits longer, who has not is told at once.
func TestFollowWaitersOfLowerRate(t *testing.T) {
	for name, deadlines := range map[string][3]time.Duration{
		"first":  {5 * time.Second, 0, 0},
		"second": {0, 5 * time.Second, 0},
		"last":   {0, 0, 25 * time.Second},
		"all":    {5 * time.Second, 5 * time.Second, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, setOf(t, "1/s name=a"), func(t *testing.T, q *queue) {
				require.True(t, q.h.Allow())
				var want []ended
				due := time.Duration(0)
				for i, who := range []string{"a", "b", "c"} {
					ctx := q.Context()
					if deadlines[i] != 0 {
						ctx = q.within(deadlines[i])
						want = append(want, ended{who, 500 * time.Millisecond, context.DeadlineExceeded})
					}
					q.wait(ctx, who, q.h, 1)
				}
				q.until(500 * time.Millisecond)
				require.NoError(t, q.Apply(setOf(t, "1/10s name=a")))
				q.expect(want...)
				want = nil
				for i, who := range []string{"a", "b", "c"} {
					if deadlines[i] == 0 {
						due += 10 * time.Second
						want = append(want, ended{who, due - 4500*time.Millisecond, nil}) // half a token was there
					}
				}
				q.until(time.Minute)
				q.expect(want...)
			})
		})
	}
}

// What waits for more than the new capacity can never pass.
func TestFollowWaitersOfLowerCapacity(t *testing.T) {
	for _, to := range []string{"10/s burst=3 name=a", "3/s name=a from-first", "3/s name=a rolling", "deny"} {
		t.Run(to, func(t *testing.T) {
			inBubble(t, setOf(t, "10/s name=a"), func(t *testing.T, q *queue) {
				require.True(t, q.h.AllowAt(0, 10))
				q.wait(q.Context(), "first", q.h, 5)
				q.wait(q.Context(), "second", q.h, 4)
				require.NoError(t, q.Apply(setOf(t, to)))
				q.expect(ended{"first", 0, tickgate.ErrTooCostly}, ended{"second", 0, tickgate.ErrTooCostly})
			})
		})
	}
}

// Limits that go let those who waited for them pass; an endpoint that goes, none.
func TestFollowWaitersOfNoLimit(t *testing.T) {
	for name, c := range map[string]struct {
		set  policy.Set
		want error
	}{
		"unlimited":    {setOf(t, "unlimited"), nil},
		"higher":       {setOf(t, "10/h burst=30 name=a"), nil},
		"no policy":    {policy.Set{}, tickgate.ErrNoPolicy},
		"another only": {policy.Set{policyOf(t, "other", "10/h")}, tickgate.ErrNoPolicy},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, setOf(t, "10/h name=a"), func(t *testing.T, q *queue) {
				require.True(t, q.h.AllowAt(0, 10))
				q.wait(q.Context(), "a", q.h, 5)
				q.wait(q.Context(), "b", q.h, 10)
				require.NoError(t, q.Apply(c.set))
				q.expect(ended{"a", 0, c.want}, ended{"b", 0, c.want})
				require.NoError(t, q.Apply(setOf(t, "10/h burst=30 name=a")))
				if name != "unlimited" {
					want := int64(20)
					if c.want == nil {
						want = 5
					}
					require.Equal(t, want, left(q.Gate, "k"))
				}
			})
		})
	}
}

// A limit changes its window while somebody waits for it: who waits takes a token
// that the new limit has, and counts.
func TestFollowWaitersOfAnotherWindow(t *testing.T) {
	kinds := []string{"", " aligned", " from-first", " rolling"}
	for _, capacity := range []int{1, 10} {
		for _, from := range kinds {
			for _, to := range kinds[1:] {
				t.Run(fmt.Sprint(capacity, from, " to", to), func(t *testing.T) {
					inBubble(t, setOf(t, fmt.Sprintf("%d/h name=a%s", capacity, from)), func(t *testing.T, q *queue) {
						q.until(time.Minute)
						minutes := make([]int, 5*60) // what passed in each
						minutes[1] = drain(q.h.Allow)
						q.wait(q.Context(), "k", q.h, 1)
						require.NoError(t, q.Apply(setOf(t, fmt.Sprintf("%d/h name=a%s", capacity, to))))
						for m := 2; m < len(minutes); m++ {
							q.until(time.Duration(m) * time.Minute)
							minutes[m] = drain(q.h.Allow)
						}
						require.Len(t, q.over, 1)
						require.NoError(t, q.over[0].err)
						minutes[q.over[0].at/time.Minute]++
						q.over = nil
						for m := range len(minutes) - 60 {
							if to == " aligned" && m%60 != 0 {
								continue
							}
							n := 0
							for _, passed := range minutes[m : m+60] {
								n += passed
							}
							require.LessOrEqual(t, n, capacity, "in the hour from minute %d", m)
						}
					})
				})
			}
		}
	}
}

// slowly is a context whose Done takes until it goes: whoever waits by it does not get to
// run before.
type slowly struct {
	context.Context
	goes chan struct{}
}

func (c slowly) Done() <-chan struct{} {
	<-c.goes
	return c.Context.Done()
}

// A limit comes while somebody waits, and others use it up before the one who waits
// gets to run: what it had taken ahead of other limits is not given back to this one.
func TestFollowWaiterIsGivenNothingOfNewLimit(t *testing.T) {
	inBubble(t, setOf(t, "10/h name=a"), func(t *testing.T, q *queue) {
		require.True(t, q.h.AllowAt(0, 10))
		ctx := slowly{q.Context(), make(chan struct{})}
		q.wait(ctx, "k", q.h, 5)
		require.NoError(t, q.Apply(setOf(t, "1000/h name=a", "10/h name=b")))
		require.Equal(t, 10, drain(q.h.Allow))
		close(ctx.goes)
		q.expect()
		q.until(30 * time.Minute)
		q.expect(ended{"k", 30 * time.Minute, nil})
	})
}

// The same where the time has come and gone before: what it had taken ahead was
// refilled by time, and others took that.
func TestFollowWaiterIsGivenNothingOfTheRefilled(t *testing.T) {
	for _, to := range []string{"1/s burst=10 name=a", "1/s burst=11 name=a", "60/m burst=10 name=a reserve=1", "10/10s name=a from-first"} {
		t.Run(to, func(t *testing.T) {
			inBubble(t, setOf(t, "1/s burst=10 name=a"), func(t *testing.T, q *queue) {
				require.True(t, q.h.AllowAt(0, 10))
				ctx := slowly{q.Context(), make(chan struct{})}
				q.wait(ctx, "k", q.h, 5) // at 5 s
				q.until(15 * time.Second)
				require.NoError(t, q.Apply(setOf(t, to)))
				passed := drain(q.h.Allow)
				close(ctx.goes)
				synctest.Wait()
				q.mu.Lock()
				for _, e := range q.over {
					require.NoError(t, e.err)
					passed += 5
				}
				q.mu.Unlock()
				require.LessOrEqual(t, passed, 11)
				q.until(time.Minute)
				q.mu.Lock()
				q.over = nil
				q.mu.Unlock()
			})
		})
	}
}

// An endpoint is named for the first time, and answered for by "default" again. What
// was taken ahead under one policy, by somebody who waited, is given back there.
func TestFollowWaitersToAnotherPolicyAndBack(t *testing.T) {
	other := policyOf(t, policy.DefaultEndpoint, "10/h name=d")
	inBubble(t, policy.Set{other}, func(t *testing.T, q *queue) {
		require.True(t, q.h.AllowAt(0, 5))
		q.wait(q.Context(), "a", q.h, 8) // 18 minutes for three more
		q.wait(q.Context(), "b", q.h, 2)
		q.until(time.Minute)
		require.NoError(t, q.Apply(append(setOf(t, "10/h name=e burst=9"), other)))
		q.expect(ended{"a", time.Minute, nil})
		require.Equal(t, int64(0), left(q.Gate, "k"), "b has taken ahead")
		q.wait(q.Context(), "c", q.h, 1)
		q.until(2 * time.Minute)
		require.NoError(t, q.Apply(policy.Set{other}))
		q.expect(ended{"b", 2 * time.Minute, nil}, ended{"c", 2 * time.Minute, nil})
		// 5, 2 and 1 taken, at 6 minutes each, less 2 minutes.
		require.Equal(t, 46*time.Minute, q.h.Take(0).ResetAfter)
	})
}

// What was used under either policy stays there.
func TestFollowHandleToNamedEndpointAndBack(t *testing.T) {
	other := policyOf(t, policy.DefaultEndpoint, "100/h name=d")
	named := append(setOf(t, "10/h name=e"), other)
	g, _ := gateWith(t, tickgate.Config{}, policy.Set{other})
	h, before := handleOf(t, g, "k"), handleOf(t, g, "k")
	require.Equal(t, int64(70), h.Take(30).Remaining)
	require.NoError(t, g.Apply(named))
	after := handleOf(t, g, "k")
	want := int64(10)
	for _, h := range []tickgate.Handle{h, before, after} {
		d := h.Take(1)
		want--
		require.Equal(t, "e", d.Limit, "begins with a full limit")
		require.Equal(t, want, d.Remaining)
		require.True(t, h.AllowAt(0, 1))
		want--
		h.Charge(1)
		want--
		require.Equal(t, want, left(g, "k"))
	}
	require.NoError(t, g.Apply(policy.Set{other}))
	for _, h := range []tickgate.Handle{h, before, after} {
		d := h.Take(0)
		require.Equal(t, "d", d.Limit)
		require.Equal(t, int64(70), d.Remaining, "what was used under it is kept")
	}
	require.NoError(t, g.Apply(named))
	require.Equal(t, int64(1), h.Take(0).Remaining)
	require.NoError(t, g.Apply(setOf(t, "20/h name=e")))
	require.Equal(t, int64(11), h.Take(0).Remaining)
	require.NoError(t, g.Apply(policy.Set{}))
	for _, h := range []tickgate.Handle{h, before, after} {
		require.Equal(t, tickgate.NoPolicy, h.Take(1).Reason)
		require.False(t, h.Allow())
		_, err := h.ReserveAt(0, 1)
		require.ErrorIs(t, err, tickgate.ErrNoPolicy)
		require.ErrorIs(t, h.Wait(t.Context(), 1), tickgate.ErrNoPolicy)
		h.Refund(tickgate.Decision{Allowed: true})
		h.Charge(1)
	}
	require.Equal(t, uint64(0), g.Stats().BadRequests)
	require.NoError(t, g.Apply(named))
	require.Equal(t, int64(1), h.Take(0).Remaining)
	h.Release()
	require.Equal(t, tickgate.BadRequest, h.Take(1).Reason)
	require.Equal(t, int64(1), before.Take(0).Remaining)
}

// Released handles hold nothing, through whatever policies they went.
func TestFollowHandleReleasesAllItHeld(t *testing.T) {
	other := policyOf(t, policy.DefaultEndpoint, "100/h name=d")
	named := append(setOf(t, "10/h name=e"), other)
	g, _ := gateWith(t, tickgate.Config{MaxKeys: 2, OnFull: tickgate.EvictIdle}, policy.Set{other})
	h := handleOf(t, g, "k")
	for range 20 {
		require.NoError(t, g.Apply(named))
		require.Equal(t, int64(10), h.Take(0).Remaining)
		require.NoError(t, g.Apply(policy.Set{other}))
		require.Equal(t, int64(100), h.Take(0).Remaining)
	}
	h.Release()
	for _, apikey := range []string{"x", "y", "z", "w"} {
		h := handleOf(t, g, apikey)
		require.Equal(t, int64(99), h.Take(1).Remaining)
		h.Release()
	}
}

// No room for the key under the policy that answers now: the handle is Full until
// there is some.
func TestFollowHandleFull(t *testing.T) {
	other := policyOf(t, policy.DefaultEndpoint, "100/h name=d")
	named := append(setOf(t, "10/h name=e"), other)
	g, _ := gateWith(t, tickgate.Config{MaxKeys: 2, OnFull: tickgate.RejectNew}, named)
	full, err := g.Handle("x", "unlisted")
	require.NoError(t, err)
	h := handleOf(t, g, "k")
	group, err := tickgate.Join(h, full)
	require.NoError(t, err)
	require.NoError(t, g.Apply(policy.Set{other}))
	for range 3 {
		require.Equal(t, tickgate.Full, h.Take(1).Reason)
		require.False(t, h.Allow())
		require.False(t, group.Allow())
		require.Equal(t, tickgate.Full, group.TakeAt(0, 1).Reason)
		_, err = h.ReserveAt(0, 1)
		require.ErrorIs(t, err, tickgate.ErrFull)
		require.ErrorIs(t, h.Wait(t.Context(), 1), tickgate.ErrFull)
	}
	require.NoError(t, g.Apply(named))
	require.Equal(t, int64(9), h.Take(1).Remaining)
	require.Equal(t, int64(8), group.TakeAt(0, 1).Remaining)
	require.Equal(t, int64(99), full.Take(0).Remaining)
}

// A group follows member by member.
func TestFollowGroup(t *testing.T) {
	other := policyOf(t, policy.DefaultEndpoint, "100/h name=d")
	named := append(setOf(t, "10/h name=e"), other)
	g, _ := gateWith(t, tickgate.Config{}, policy.Set{other})
	a := handleOf(t, g, "k")
	b, err := g.Handle("k", "unlisted")
	require.NoError(t, err)
	group, err := tickgate.Join(a, b)
	require.NoError(t, err)
	old := group.TakeAt(0, 20)
	require.Equal(t, int64(80), old.Remaining)
	require.NoError(t, g.Apply(named))
	d := group.TakeAt(0, 4)
	require.Equal(t, "e", d.Limit)
	require.Equal(t, 0, d.Member)
	require.Equal(t, int64(6), d.Remaining)
	require.Equal(t, int64(76), b.Take(0).Remaining)
	group.Refund(old) // of before the change
	require.Equal(t, int64(76), b.Take(0).Remaining)
	group.Refund(d)
	require.Equal(t, int64(10), a.Take(0).Remaining)
	require.Equal(t, int64(80), b.Take(0).Remaining)
	require.True(t, group.AllowAt(0, 10))
	require.False(t, group.AllowAt(0, 1))
	require.Equal(t, tickgate.TooCostly, group.TakeAt(0, 11).Reason)
	require.Equal(t, int64(70), b.Take(0).Remaining, "a denial took something")
	require.NoError(t, g.Apply(policy.Set{other}))
	require.Equal(t, int64(69), group.TakeAt(0, 1).Remaining)
	require.Equal(t, int64(79), a.Take(0).Remaining)
	require.NoError(t, g.Apply(setOf(t, "10/h name=e")))
	require.Equal(t, tickgate.NoPolicy, group.TakeAt(0, 1).Reason)
	require.False(t, group.AllowAt(0, 1))
}

// Endpoints come and go while handles and a group take, and the clock stands: under
// each policy no more passes than its limits have, and at rest nothing was lost but
// by calls that were under way at a change.
func TestFollowWhileTaking(t *testing.T) {
	for range scaled(10, 3) {
		other := policyOf(t, policy.DefaultEndpoint, "1000/h name=d")
		sets := []policy.Set{
			append(setOf(t, "500/h name=e"), other), {other}, setOf(t, "500/h name=e"), {other},
			append(setOf(t, "500/h name=e from-first"), other), {}, append(setOf(t, "500/h name=e rolling"), other), {other},
		}
		g, c := gateWith(t, tickgate.Config{MaxKeys: 64}, policy.Set{other})
		h := handleOf(t, g, "k")
		b, err := g.Handle("b", "unlisted")
		require.NoError(t, err)
		group, err := tickgate.Join(h, b)
		require.NoError(t, err)
		var took [4]atomic.Int64 // at k under d, at k under e, at k under either, at b
		var taking atomic.Int64
		taking.Store(4)
		together(5, func(i int) {
			if i == 4 {
				for j := 0; taking.Load() > 0; j++ {
					require.NoError(t, g.Apply(sets[j%len(sets)]))
				}
				require.NoError(t, g.Apply(sets[0]))
				return
			}
			defer taking.Add(-1)
			for j := range 1500 {
				var d tickgate.Decision
				switch (i + j) % 4 {
				case 0:
					d = h.TakeAt(c.Now(), 1)
				case 1:
					d = g.Take("k", endpoint, 1)
				case 2: // told by the limit it took from
					if d = group.TakeAt(c.Now(), 1); d.Allowed {
						took[3].Add(1)
						if d.Member == 1 {
							took[2].Add(1)
							continue
						}
					}
				case 3:
					fresh, err := g.Handle("k", endpoint)
					if err != nil {
						continue // removed just now
					}
					d = fresh.Take(1)
					fresh.Release()
				}
				if d.Allowed {
					took[map[string]int{"d": 0, "e": 1}[d.Limit]].Add(1)
				}
			}
		})
		require.LessOrEqual(t, took[1].Load(), int64(500))
		require.LessOrEqual(t, took[0].Load(), int64(1000))
		require.Equal(t, int64(1000)-took[3].Load(), b.Take(0).Remaining)
		usedOfE := 500 - left(g, "k")
		require.NoError(t, g.Apply(policy.Set{other}))
		usedOfD := 1000 - left(g, "k")
		require.GreaterOrEqual(t, usedOfE, took[1].Load())
		require.GreaterOrEqual(t, usedOfD, took[0].Load())
		require.Equal(t, took[0].Load()+took[1].Load()+took[2].Load(), usedOfE+usedOfD)
	}
}
