package tickgate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// bubbleClock is the time of a synctest bubble, which moves on when everybody in it
// waits.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Now() clock.Time { return clock.Time(time.Since(c.start)) }

// queue is a gate in a bubble, and what became of those who wait for its keys.
type queue struct {
	*testing.T
	*tickgate.Gate
	bubbleClock
	h tickgate.Handle // of the key "k"

	mu   sync.Mutex
	over []ended
}

// ended is one who does not wait any more.
type ended struct {
	who string
	at  time.Duration // since the bubble began
	err error
}

// inBubble runs f with a gate at time 0. At its end nobody may be left waiting.
func inBubble(t *testing.T, set policy.Set, f func(t *testing.T, q *queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{T: t, bubbleClock: bubbleClock{time.Now()}}
		var err error
		q.Gate, err = tickgate.New(tickgate.Config{Policies: set, Clock: q.bubbleClock, Wall: clock.NewManualWall(0)})
		require.NoError(t, err)
		q.h = handleOf(t, q.Gate, "k")
		f(t, q)
		synctest.Wait()
		require.Zero(t, reflect.ValueOf(q.Gate).Elem().FieldByName("waits").FieldByName("lines").Len(), "a line without anybody")
	})
}

func (q *queue) now() time.Duration { return time.Since(q.start) }

// wait puts one more into the line of h.
func (q *queue) wait(ctx context.Context, who string, h tickgate.Handle, n int64) {
	go func() {
		err := h.Wait(ctx, n)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.over = append(q.over, ended{who, q.now(), err})
	}()
	synctest.Wait()
}

// within is a context that ends after d.
func (q *queue) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(q.Context(), d)
	q.Cleanup(cancel)
	return ctx
}

// until lets time pass.
func (q *queue) until(at time.Duration) {
	time.Sleep(at - q.now())
	synctest.Wait()
}

// expect takes those who ended since, in order, and compares them. Those who failed
// at one time may do so in any order.
func (q *queue) expect(want ...ended) {
	q.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	require.Len(q, q.over, len(want), "%v", q.over)
	sort.SliceStable(q.over, func(i, j int) bool {
		a, b := q.over[i], q.over[j]
		return a.at == b.at && a.err != nil && b.err != nil && a.who < b.who
	})
	for i, w := range want {
		got := q.over[i]
		require.ErrorIs(q, got.err, w.err, "%s", got.who)
		require.Equal(q, ended{w.who, w.at, got.err}, got)
	}
	q.over = nil
}

// owes checks when one token will be there, at the latest in a year.
func (q *queue) owes(want time.Duration) {
	q.Helper()
	d := q.h.TakeAt(q.Gate.Now(), 1)
	if d.Allowed {
		q.h.Refund(d)
	}
	require.Equal(q, want, d.RetryAfter)
}

func TestWaitSequential(t *testing.T) {
	n := scaled(1_000_000, 50_000)
	inBubble(t, setOf(t, "1000/s burst=1"), func(t *testing.T, q *queue) {
		require.True(t, q.h.Allow())
		for i := range n {
			if err := q.h.Wait(context.Background(), 1); err != nil || q.now() != time.Duration(i+1)*time.Millisecond {
				t.Fatalf("wait %d: %v at %v", i, err, q.now())
			}
		}
	})
}

// A thousand in one line, of whom some give up and some have no time: who stays is
// served in order, and gets the tokens of those who do not.
func TestWaitConcurrent(t *testing.T) {
	const waiters = 1000
	for seed := range uint64(scaled(10, 3)) {
		inBubble(t, setOf(t, "1000/s burst=3"), func(t *testing.T, q *queue) {
			r := rand.New(rand.NewPCG(seed, 7))
			require.True(t, q.h.AllowAt(0, 3))
			var mu sync.Mutex
			var order []int // who was served
			gaveUp := map[time.Duration]bool{}
			cost := make([]int64, waiters)
			var wg sync.WaitGroup
			ahead := time.Duration(0)
			for i := range waiters {
				cost[i] = 1 + r.Int64N(3)
				ctx, near := context.Background(), false
				own := time.Duration(cost[i]) * time.Millisecond
				after := time.Duration(r.Int64N(2000))*time.Millisecond + 500*time.Microsecond
				switch r.IntN(3) {
				case 0: // gives up
					c, cancel := context.WithCancel(ctx)
					time.AfterFunc(after, cancel)
					ctx = c
				case 1: // has no time to lose
					c, cancel := context.WithTimeout(ctx, after)
					defer cancel()
					ctx, near = c, after < ahead+own
				}
				if !near {
					ahead += own
				}
				wg.Go(func() {
					err := q.h.Wait(ctx, cost[i])
					mu.Lock()
					defer mu.Unlock()
					switch {
					case near && (q.now() != 0 || !errors.Is(err, context.DeadlineExceeded)):
						t.Errorf("%d: has no time, yet %v at %v", i, err, q.now())
					case near:
					case err == nil:
						order = append(order, i)
						came := time.Duration(0)
						for _, j := range order {
							came += time.Duration(cost[j]) * time.Millisecond
						}
						// Later only where one ahead gave up who waited for more than it needs.
						if q.now() < came || q.now() > came && !gaveUp[q.now()] {
							t.Errorf("%d: served at %v, its tokens came at %v", i, q.now(), came)
						}
					case errors.Is(err, context.Canceled) && q.now() == after:
						gaveUp[q.now()] = true
					default:
						t.Errorf("%d: %v at %v, of %v", i, err, q.now(), after)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			require.IsIncreasing(t, order)
			require.Greater(t, len(order), waiters/3)
			served := int64(0)
			for _, i := range order {
				served += cost[i]
			}
			require.Equal(t, time.Duration(3+served)*time.Millisecond-q.now(), q.h.Take(0).ResetAfter, "who gave up took something")
		})
	}
}

// The first, one in the middle, and the last of three give up.
func TestWaitCancel(t *testing.T) {
	for who, want := range map[string][]ended{
		"a": {{"a", 500 * time.Millisecond, context.Canceled}, {"b", time.Second, nil}, {"c", 2 * time.Second, nil}},
		"b": {{"b", 500 * time.Millisecond, context.Canceled}, {"a", time.Second, nil}, {"c", 2 * time.Second, nil}},
		"c": {{"c", 500 * time.Millisecond, context.Canceled}, {"a", time.Second, nil}, {"b", 2 * time.Second, nil}},
	} {
		inBubble(t, setOf(t, "1/s"), func(t *testing.T, q *queue) {
			require.True(t, q.h.Allow())
			cancel := map[string]context.CancelFunc{}
			for _, w := range []string{"a", "b", "c"} {
				ctx, c := context.WithCancel(q.Context())
				defer c()
				cancel[w] = c
				q.wait(ctx, w, q.h, 1)
			}
			q.until(500 * time.Millisecond)
			cancel[who]()
			q.until(2 * time.Second)
			q.expect(want...)
			q.owes(time.Second)
		})
	}
}

// All give up: the key is as if nobody had waited.
func TestWaitAllGiveUp(t *testing.T) {
	inBubble(t, setOf(t, "10/s burst=7", "100/m name=m"), func(t *testing.T, q *queue) {
		require.True(t, q.h.AllowAt(0, 6))
		ctx, cancel := context.WithCancel(q.Context())
		for i := range 20 {
			q.wait(ctx, "", q.h, int64(1+i%7)+1)
		}
		q.until(50 * time.Millisecond)
		cancel()
		synctest.Wait()
		require.Equal(t, 550*time.Millisecond, q.h.Take(0).ResetAfter)
		require.NoError(t, q.Apply(setOf(t, "100/m name=m")))
		require.Equal(t, int64(94), left(q.Gate, "k"))
	})
}

// A deadline that is too near is found at once, and takes nothing.
func TestWaitDeadline(t *testing.T) {
	inBubble(t, setOf(t, "1/s burst=5"), func(t *testing.T, q *queue) {
		require.True(t, q.h.AllowAt(0, 5))
		q.wait(q.within(2*time.Second-1), "alone", q.h, 2)
		q.expect(ended{"alone", 0, context.DeadlineExceeded})
		q.owes(time.Second)

		q.wait(q.within(2*time.Second+1), "first", q.h, 2)
		q.wait(q.within(4*time.Second-1), "near", q.h, 2)
		q.expect(ended{"near", 0, context.DeadlineExceeded})
		q.wait(q.within(4*time.Second+1), "second", q.h, 2)
		q.wait(q.within(9*time.Second-1), "five, near", q.h, 5)
		q.expect(ended{"five, near", 0, context.DeadlineExceeded})
		q.wait(q.within(9*time.Second+1), "five", q.h, 5)
		q.until(9 * time.Second)
		q.expect(ended{"first", 2 * time.Second, nil}, ended{"second", 4 * time.Second, nil}, ended{"five", 9 * time.Second, nil})
		q.owes(time.Second)
	})
}

func TestWaitContextEnded(t *testing.T) {
	inBubble(t, setOf(t, "10/s"), func(t *testing.T, q *queue) {
		ctx, cancel := context.WithCancel(q.Context())
		cancel()
		require.ErrorIs(t, q.h.Wait(ctx, 1), context.Canceled)
		require.ErrorIs(t, q.h.Wait(ctx, 0), context.Canceled)
		require.ErrorIs(t, q.h.Wait(q.within(-1), 1), context.DeadlineExceeded)
		require.Equal(t, int64(10), left(q.Gate, "k"))
	})
}

func TestWaitNumbers(t *testing.T) {
	for _, limit := range []string{"10/s", "10/s aligned", "10/s from-first", "10/s rolling"} {
		inBubble(t, setOf(t, limit), func(t *testing.T, q *queue) {
			ctx := q.Context()
			require.NoError(t, q.h.Wait(ctx, 0))
			require.Equal(t, int64(10), left(q.Gate, "k"))
			require.ErrorIs(t, q.h.Wait(ctx, -1), tickgate.ErrCost)
			require.ErrorIs(t, q.h.Wait(ctx, 11), tickgate.ErrTooCostly)
			require.NoError(t, q.h.Wait(ctx, 10))
			require.Equal(t, int64(0), left(q.Gate, "k"))
			require.Zero(t, q.now())
			require.Equal(t, uint64(1), q.Stats().BadRequests)

			// What can never pass does not wait for those who can.
			q.wait(ctx, "ten", q.h, 10)
			q.wait(ctx, "eleven", q.h, 11)
			q.wait(ctx, "nothing", q.h, 0)
			q.expect(ended{"eleven", 0, tickgate.ErrTooCostly}, ended{"nothing", 0, nil})
			q.until(time.Second)
			q.expect(ended{"ten", time.Second, nil})
		})
	}
	require.ErrorIs(t, tickgate.Handle{}.Wait(t.Context(), -1), tickgate.ErrCost)
	require.ErrorIs(t, tickgate.Handle{}.Wait(t.Context(), 1), tickgate.ErrReleased)
}

// The first in line of a token bucket is not overtaken, and those who come after it
// do not make it wait.
func TestWaitFirstIsNotOvertaken(t *testing.T) {
	for name, meanwhile := range map[string]func(q *queue){
		"takes":     func(q *queue) { require.False(q, q.h.Allow()) },
		"takes all": func(q *queue) { require.False(q, q.AllowN("k", endpoint, 2)) },
		"reserves": func(q *queue) {
			_, err := q.h.ReserveAt(q.Gate.Now(), 2)
			require.NoError(q, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, setOf(t, "1/s burst=2"), func(t *testing.T, q *queue) {
				require.True(t, q.h.AllowAt(0, 2))
				q.wait(q.Context(), "k", q.h, 1)
				q.until(time.Second - 1)
				meanwhile(q)
				q.until(10 * time.Second)
				q.expect(ended{"k", time.Second, nil})
			})
		})
	}
}

// Handles of one key are in one line; other keys are not.
func TestWaitManyKeysAndHandles(t *testing.T) {
	const keys, each = 50, 6
	inBubble(t, setOf(t, "10/s burst=1"), func(t *testing.T, q *queue) {
		var want []ended
		var handles []tickgate.Handle
		for k := range keys {
			h := handleOf(t, q.Gate, keysOf(keys)[k])
			require.True(t, h.Allow())
			handles = append(handles, h)
		}
		for i := range each {
			for k, h := range handles {
				name := keysOf(keys)[k]
				if i%2 == 1 {
					h = handleOf(t, q.Gate, name)
				}
				q.wait(q.Context(), name, h, 1)
				want = append(want, ended{name, time.Duration(i+1) * time.Second / 10, nil})
			}
		}
		q.until(time.Second)
		require.ElementsMatch(t, want, q.over)
		q.over = nil
	})
}

func TestWaitWindows(t *testing.T) {
	for _, c := range []struct {
		limits []string
		want   [3]time.Duration
	}{
		{[]string{"2/10s aligned"}, [3]time.Duration{10, 20, 30}},
		{[]string{"2/10s aligned skew=1s"}, [3]time.Duration{11, 21, 31}},
		{[]string{"2/10s from-first"}, [3]time.Duration{13, 23, 33}},
		{[]string{"2/10s from-first skew=1s"}, [3]time.Duration{14, 25, 36}},
		{[]string{"2/10s rolling"}, [3]time.Duration{13, 23, 33}},
		{[]string{"2/10s rolling skew=1s"}, [3]time.Duration{14, 25, 36}},
		{[]string{"2/10s rolling", "2/8s aligned", "1/4s burst=2"}, [3]time.Duration{13, 23, 33}},
		{[]string{"2/10s aligned", "1/6s burst=2"}, [3]time.Duration{10, 21, 30}},
	} {
		t.Run(policyOf(t, endpoint, c.limits...).Limits[0].String(), func(t *testing.T) {
			inBubble(t, setOf(t, c.limits...), func(t *testing.T, q *queue) {
				q.until(3 * time.Second)
				require.True(t, q.h.AllowAt(q.Gate.Now(), 2))
				q.wait(q.Context(), "one", q.h, 1)
				q.wait(q.Context(), "two", q.h, 2) // is not overtaken by the one behind
				q.wait(q.Context(), "one more", q.h, 1)
				q.until(time.Minute)
				q.expect(ended{"one", c.want[0] * time.Second, nil}, ended{"two", c.want[1] * time.Second, nil}, ended{"one more", c.want[2] * time.Second, nil})
			})
		})
	}
}

// All who wait are told of a block at once, and took nothing.
func TestWaitBlock(t *testing.T) {
	for _, apikey := range []string{"k", ""} {
		inBubble(t, setOf(t, "10/s"), func(t *testing.T, q *queue) {
			require.True(t, q.h.AllowAt(0, 5))
			for _, who := range []string{"a", "b", "c"} {
				q.wait(q.Context(), who, q.h, 8)
			}
			q.Block("another")
			q.until(100 * time.Millisecond)
			q.Block(apikey)
			at := 100 * time.Millisecond
			q.expect(ended{"a", at, tickgate.ErrBlocked}, ended{"b", at, tickgate.ErrBlocked}, ended{"c", at, tickgate.ErrBlocked})
			require.ErrorIs(t, q.h.Wait(q.Context(), 1), tickgate.ErrBlocked)
			q.Unblock(apikey)
			require.Equal(t, 400*time.Millisecond, q.h.Take(0).ResetAfter)
		})
	}
}

// A ban is waited for, and the line stays as it is.
func TestWaitBan(t *testing.T) {
	inBubble(t, setOf(t, "1/s burst=2"), func(t *testing.T, q *queue) {
		require.True(t, q.h.AllowAt(0, 2))
		q.wait(q.Context(), "a", q.h, 2)
		q.wait(q.Context(), "b", q.h, 1)
		q.until(time.Second)
		q.h.Ban(q.Gate.Now().Add(9 * time.Second))
		q.wait(q.within(5*time.Second), "late", q.h, 1)
		q.expect(ended{"late", time.Second, context.DeadlineExceeded})
		q.h.Ban(q.Gate.Now().Add(time.Second)) // the longest counts
		q.until(time.Minute)
		q.expect(ended{"a", 10 * time.Second, nil}, ended{"b", 11 * time.Second, nil})
		q.h.Ban(q.Gate.Now().Add(time.Hour))
		q.wait(q.within(time.Minute), "alone", q.h, 1)
		q.expect(ended{"alone", time.Minute, context.DeadlineExceeded})
	})
}

// Who waits by a handle that is released is told at once, wherever it stands, and
// took nothing. Those of another handle of the key move up.
func TestWaitRelease(t *testing.T) {
	inBubble(t, setOf(t, "1/s burst=5"), func(t *testing.T, q *queue) {
		other := handleOf(t, q.Gate, "k")
		require.True(t, q.h.AllowAt(0, 5))
		q.wait(q.Context(), "a", other, 2)
		q.wait(q.Context(), "b", q.h, 3)
		q.wait(q.Context(), "c", other, 1)
		q.until(time.Second)
		other.Release()
		q.expect(ended{"a", time.Second, tickgate.ErrReleased}, ended{"c", time.Second, tickgate.ErrReleased})
		require.ErrorIs(t, other.Wait(q.Context(), 1), tickgate.ErrReleased)
		q.until(3 * time.Second)
		q.expect(ended{"b", 3 * time.Second, nil})
	})
}

// The one behind is told too when the handle that it waits by is released.
func TestWaitReleaseInTheMiddle(t *testing.T) {
	inBubble(t, setOf(t, "1/s"), func(t *testing.T, q *queue) {
		other := handleOf(t, q.Gate, "k")
		require.True(t, q.h.Allow())
		q.wait(q.Context(), "a", q.h, 1)
		q.wait(q.Context(), "b", other, 1)
		other.Release()
		q.expect(ended{"b", 0, tickgate.ErrReleased})
		q.until(time.Second)
		q.expect(ended{"a", time.Second, nil})
	})
}
