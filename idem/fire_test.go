package idem

import (
	"errors"
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

func TestStoreConcurrentFirstCalls(t *testing.T) {
	s, _ := newStore(t, Config{})
	for key := range 50 {
		var acquired, inFlight atomic.Int32
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				<-start
				c, err := s.Begin(ctx, keyOf(key), printA)
				switch {
				case c.Acquired:
					acquired.Add(1)
				case errors.As(err, new(*InFlightError)):
					inFlight.Add(1)
				}
			})
		}
		close(start)
		wg.Wait()
		require.EqualValues(t, 1, acquired.Load())
		require.EqualValues(t, 63, inFlight.Load())
	}
}

// fireKey is what the test knows of one key, apart from the store.
type fireKey struct {
	mu        sync.Mutex
	fence     uint64     // the highest that was given, as far as its owner came to say so
	completed uint64     // completions
	doneFrom  clock.Time // no later than the last completion
}

// Owners that finish, give up, panic, die, or come late, on a clock that jumps.
func TestStoreUnderFire(t *testing.T) {
	keys, calls := 10_000, 4_000
	if testing.Short() || raceEnabled {
		keys, calls = 500, 400
	}
	const ttl, lease = 40 * time.Second, 2 * time.Second
	maxRecords := keys / 8 // too few at times
	s, c := newStore(t, Config{TTL: ttl, Lease: lease, MaxRecords: maxRecords})
	known := make([]fireKey, keys)
	var tooMany atomic.Int64

	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 1))
			var late []Token // of owners that will come late
			var lateKeys []int
			for range calls {
				if rnd.IntN(16) == 0 {
					c.Advance(time.Duration(rnd.Int64N(int64(lease) / 16)))
				}
				n := rnd.IntN(keys)
				if rnd.IntN(4) == 0 {
					n = rnd.IntN(20) // some are wanted by all
				}
				k := &known[n]
				k.mu.Lock()
				before := fireKey{fence: k.fence, completed: k.completed, doneFrom: k.doneFrom}
				k.mu.Unlock()
				claim, err := s.Begin(ctx, keyOf(n), printA)
				now := c.Now()
				var flying *InFlightError
				switch {
				case errors.As(err, &flying):
					if flying.RetryAfter > lease {
						t.Errorf("key %d is stuck for %v", n, flying.RetryAfter)
					}
					continue
				case errors.Is(err, ErrFull):
					continue
				case err != nil:
					t.Errorf("key %d: %v", n, err)
					continue
				case !claim.Acquired:
					if string(claim.Result.Body) != fmt.Sprint(n) {
						t.Errorf("key %d got the result of key %q", n, claim.Result.Body)
					}
					continue
				}
				if before.completed > 0 && now.Sub(before.doneFrom) < ttl {
					t.Errorf("key %d was acquired %v after it was completed", n, now.Sub(before.doneFrom))
				}
				if claim.Token.Fence() <= before.fence {
					t.Errorf("key %d: fence %d after %d", n, claim.Token.Fence(), before.fence)
				}
				k.mu.Lock()
				k.fence = max(k.fence, claim.Token.Fence())
				k.mu.Unlock()
				if s.Stats().Records > maxRecords {
					tooMany.Add(1)
				}
				if rnd.IntN(4) == 0 {
					runtime.Gosched() // others come while the work is done
				}
				switch what := rnd.IntN(10); {
				case what < 5:
					known[n].complete(t, s, c, n, claim.Token)
				case what < 6:
					if err := s.Release(ctx, claim.Token); err != nil && !errors.Is(err, ErrLost) {
						t.Error(err)
					}
				case what < 7:
					func() {
						defer func() { _ = recover() }()
						defer s.Release(ctx, claim.Token)
						panic("the work failed")
					}()
				case what < 8:
					// It dies: nobody hears of the token again.
				default:
					late, lateKeys = append(late, claim.Token), append(lateKeys, n)
					if len(late) > 5 {
						known[lateKeys[0]].complete(t, s, c, lateKeys[0], late[0])
						late, lateKeys = late[1:], lateKeys[1:]
					}
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, tooMany.Load(), "more records than there is room for")
	st := s.Stats()
	t.Logf("%+v", st)
	require.NotZero(t, st.Replayed)
	require.NotZero(t, st.Completed)
	require.NotZero(t, st.InFlight)
	require.NotZero(t, st.Lost)
	require.NotZero(t, st.Full)
	require.LessOrEqual(t, st.Bytes, int64(st.Records)*(RecordBytes+RoomyResult))

	// Nothing is stuck beyond its lease, and all comes back.
	c.Advance(lease)
	for n := range keys {
		_, err := s.Begin(ctx, keyOf(n), printA)
		require.False(t, errors.As(err, new(*InFlightError)), "key %d is stuck", n)
	}
	c.Advance(ttl + 2*lease)
	s.Sweep()
	require.Zero(t, s.Stats().Records)
	require.Zero(t, s.Stats().Bytes)
}

// complete completes key n, and notes it; a token that was overtaken must be told.
func (k *fireKey) complete(t *testing.T, s *Store, c *clock.Manual, n int, token Token) {
	k.mu.Lock()
	overtaken := k.fence > token.Fence()
	k.mu.Unlock()
	from := c.Now()
	err := s.Complete(ctx, token, Result{Status: 200, Body: []byte(fmt.Sprint(n))})
	switch {
	case err == nil && overtaken:
		t.Errorf("key %d: fence %d completed it though a later owner had it", n, token.Fence())
	case err == nil:
		k.mu.Lock()
		k.completed++
		k.doneFrom = max(k.doneFrom, from)
		k.mu.Unlock()
	case !errors.Is(err, ErrLost):
		t.Error(err)
	}
}
