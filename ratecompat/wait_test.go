package ratecompat

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// line runs waiters in a bubble, one after the other in the queue, and notes when
// and in which order they return.
type line struct {
	l     *Limiter
	start time.Time
	mu    sync.Mutex
	order []int
	when  map[int]time.Duration
	errs  map[int]error
}

func newLine(l *Limiter) *line {
	return &line{l: l, start: time.Now(), when: map[int]time.Duration{}, errs: map[int]error{}}
}

// join starts waiter id for n tokens and returns when it is blocked, or done.
func (q *line) join(ctx context.Context, id, n int) {
	go func() {
		err := q.l.WaitN(ctx, n)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.order = append(q.order, id)
		q.when[id], q.errs[id] = time.Since(q.start), err
	}()
	synctest.Wait()
}

// returned tells who has returned so far.
func (q *line) returned() []int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.order)
}

// pass lets time pass, and all that happens in it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestWaitSequential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := NewLimiter(1000, 1), time.Now()
		for i := range 1000 {
			require.NoError(t, l.Wait(t.Context()))
			require.Equal(t, time.Duration(i)*time.Millisecond, time.Since(start))
		}
	})
}

func TestWaitIsFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(10, 5))
		require.True(t, q.l.AllowN(time.Now(), 5))
		var want []int
		for i, n := range []int{5, 1, 3, 1, 1} {
			q.join(t.Context(), i, n)
			want = append(want, i)
		}
		require.False(t, q.l.Allow())
		pass(time.Minute)
		require.Equal(t, want, q.order)
		for i, ms := range []time.Duration{500, 600, 900, 1000, 1100} {
			require.Equal(t, ms*time.Millisecond, q.when[i], "%d", i)
			require.NoError(t, q.errs[i])
		}
	})
}

func TestWaitHeadGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(1, 1))
		require.True(t, q.l.Allow())
		ctx, cancel := context.WithCancel(t.Context())
		q.join(ctx, 0, 1)
		q.join(t.Context(), 1, 1)
		q.join(t.Context(), 2, 1)
		pass(500 * time.Millisecond)
		cancel()
		pass(time.Minute)
		require.Equal(t, []int{0, 1, 2}, q.order)
		require.ErrorIs(t, q.errs[0], context.Canceled)
		require.Equal(t, time.Second, q.when[1], "it moved up")
		require.Equal(t, 2*time.Second, q.when[2])
		require.InDelta(t, 1, q.l.Tokens(), 1e-9)
	})
}

// Those behind a reservation that is cancelled move up as well.
func TestWaitBehindAReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(1, 2))
		require.True(t, q.l.AllowN(time.Now(), 2))
		q.join(t.Context(), 0, 1)
		r := q.l.ReserveN(time.Now(), 2)
		q.join(t.Context(), 1, 1)
		q.join(t.Context(), 2, 0)
		pass(1500 * time.Millisecond)
		r.Cancel()
		pass(time.Minute)
		require.Equal(t, time.Second, q.when[0])
		require.Equal(t, 2*time.Second, q.when[1])
		require.Equal(t, 2*time.Second, q.when[2])
	})
}

func TestWaitIsRetimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(1, 1))
		require.True(t, q.l.Allow())
		q.join(t.Context(), 1, 1) // due at 1 s
		q.join(t.Context(), 2, 1) // due at 2 s
		q.l.SetLimit(1000)
		q.join(t.Context(), 3, 1)
		pass(time.Minute)
		for i := 1; i <= 3; i++ {
			require.Equal(t, time.Duration(i)*time.Millisecond, q.when[i])
		}
	})
}

func TestWaitFollowsEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newLine(NewLimiter(0, 1))
		require.True(t, q.l.Allow())
		for i := range 5 {
			q.join(t.Context(), i, 1)
		}
		pass(time.Hour)
		require.Empty(t, q.returned(), "limit 0")
		q.l.SetLimit(1)
		pass(1100 * time.Millisecond)
		require.Equal(t, []int{0}, q.returned())
		q.l.SetBurst(7)
		q.l.SetBurst(0)
		q.l.SetLimit(0.1) // 0.9 to go for the second
		pass(8999 * time.Millisecond)
		require.Equal(t, []int{0}, q.returned())
		pass(time.Millisecond)
		require.Equal(t, []int{0, 1}, q.returned())
		q.l.SetLimit(Inf)
		synctest.Wait()
		require.Len(t, q.returned(), 5)
	})
}

func TestWaitDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, start := NewLimiter(1, 1), time.Now()
		require.True(t, l.Allow())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second-1)
		defer cancel()
		err := l.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "would exceed context deadline")
		require.Zero(t, time.Since(start), "at once")
		require.InDelta(t, 0, l.Tokens(), 1e-9, "and it takes nothing")

		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, l.Wait(ctx))
		require.Equal(t, time.Second, time.Since(start))

		l.SetLimit(0)
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.ErrorIs(t, l.Wait(ctx), context.DeadlineExceeded, "no tokens ever")

		// The limit goes down while it waits.
		l.SetLimit(1)
		ctx, cancel = context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		q := newLine(l)
		q.join(ctx, 0, 1)
		l.SetLimit(0.1)
		pass(time.Minute)
		require.Equal(t, context.DeadlineExceeded, q.errs[0])
		require.Equal(t, 2*time.Second, q.when[0])
	})
}

func TestWaitRefuses(t *testing.T) {
	l := NewLimiter(1, 2)
	require.ErrorContains(t, l.WaitN(t.Context(), 3), "exceeds limiter's burst 2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.Wait(ctx), context.Canceled)
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	require.ErrorIs(t, l.Wait(ctx), context.DeadlineExceeded)
	require.Equal(t, 2, allowed(l, time.Now(), 2), "nothing was taken")

	deep := NewLimiter(Every(300*24*time.Hour), 1)
	for deep.Reserve().OK() {
	}
	require.ErrorContains(t, deep.Wait(t.Context()), "too many tokens are reserved")
	require.False(t, errors.Is(deep.Wait(t.Context()), context.DeadlineExceeded))
}

func TestWaitConcurrentCancels(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			q := newLine(NewLimiter(100, 3))
			require.True(t, q.l.AllowN(time.Now(), 3))
			const waiters = 200
			cost := make([]int, waiters)
			for i := range waiters {
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(2) == 0 {
					time.AfterFunc(time.Duration(r.IntN(3000))*time.Millisecond+time.Microsecond, cancel)
				} else {
					t.Cleanup(cancel)
				}
				cost[i] = r.IntN(4)
				q.join(ctx, i, cost[i])
			}
			pass(time.Hour)
			require.Len(t, q.order, waiters, "none hangs")
			var passedIDs []int
			tokens, last := 0, time.Duration(0)
			for _, id := range q.order {
				if q.errs[id] == nil {
					passedIDs = append(passedIDs, id)
					tokens += cost[id]
					last = max(last, q.when[id])
					require.LessOrEqual(t, tokens, int(q.when[id]/(10*time.Millisecond)), "never too early")
				}
			}
			byTime := slices.IsSortedFunc(passedIDs, func(a, b int) int { return int(q.when[a] - q.when[b]) })
			require.True(t, byTime)
			slices.Sort(passedIDs)
			require.True(t, slices.IsSortedFunc(passedIDs, func(a, b int) int { return int(q.when[a] - q.when[b]) }), "in order")
			// What the cancelled ones gave back was used: the last returns exactly when
			// all tokens that were used have come.
			require.InDelta(t, float64(tokens)*0.01, last.Seconds(), 0.03+1e-6)
			require.Equal(t, 3, allowed(q.l, time.Now(), 9))
		})
	}
}
