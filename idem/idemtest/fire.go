package idemtest

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

	"github.com/tickgate/tickgate/idem"
)

// FireConfig says what [Fire] shoots with.
type FireConfig struct {
	// Backends are asked in turn: one, or several that share their records.
	Backends []idem.Backend

	// Advance moves the backends' time, as a Maker's does. nil: it is the real one.
	Advance func(time.Duration)

	// Runs says that the backends' time runs by itself beside Advance, or may.
	Runs bool

	// Lease and TTL of the stores. 0: 2 and 20 minutes; in real time 50 ms and 1 s,
	// which owners that come late take longer than.
	Lease, TTL time.Duration

	Goroutines int // 0: 64
	Calls      int // of Begin, by each goroutine
	Keys       int

	// Watch, unless nil, is called now and then, by any goroutine.
	Watch func()
}

// FireStats are what the stores over the backends counted, together.
type FireStats struct {
	Replayed, Completed, InFlight, Lost, Full, Failed uint64
}

// patience is how long, in real time, a key may be in flight beyond its lease: it
// is for the machine, not for the backend.
const patience = 20 * time.Second

// fireKey is what the test knows of one key, apart from the store.
type fireKey struct {
	mu        sync.Mutex
	fence     uint64        // the highest that was given, as far as its owner came to say so
	completed uint64        // completions
	doneFrom  time.Duration // no later than the last completion
}

type fire struct {
	FireConfig
	t      *testing.T
	stores []*idem.Store
	keys   []fireKey
	start  time.Time

	// Bounds of the backend's time, by how they are moved: latest before it is,
	// earliest after. In real time they stand at 0.
	latest, earliest atomic.Int64
}

// Fire lets owners finish, give up, panic, die and come late, on a clock that
// jumps, or in real time. It asserts that fences grow, that no key is acquired
// within the TTL after it was completed, nor completed by an owner that was
// overtaken, that results are not mixed up, and that nothing is stuck beyond its
// lease. In the end everything in the backends has expired, or will by itself: in
// real time, after two leases.
func Fire(t *testing.T, cfg FireConfig) FireStats {
	if cfg.Goroutines == 0 {
		cfg.Goroutines = 64
	}
	span := func(d *time.Duration, held, free time.Duration) {
		if *d == 0 && cfg.Advance == nil {
			*d = free
		} else if *d == 0 {
			*d = held
		}
	}
	span(&cfg.Lease, 2*time.Minute, 50*time.Millisecond)
	span(&cfg.TTL, 20*time.Minute, time.Second)
	f := &fire{FireConfig: cfg, t: t, keys: make([]fireKey, cfg.Keys), start: time.Now()}
	for _, b := range cfg.Backends {
		s, err := idem.NewStore(idem.Config{Backend: b, TTL: cfg.TTL, Lease: cfg.Lease})
		require.NoError(t, err)
		f.stores = append(f.stores, s)
	}
	var wg sync.WaitGroup
	for g := range cfg.Goroutines {
		wg.Go(func() { f.shoot(g) })
	}
	wg.Wait()
	var sum FireStats
	for _, s := range f.stores {
		st := s.Stats()
		sum.Replayed += st.Replayed
		sum.Completed += st.Completed
		sum.InFlight += st.InFlight
		sum.Lost += st.Lost
		sum.Full += st.Full
		sum.Failed += st.Failed
	}
	require.Zero(t, sum.Failed)
	require.NotZero(t, sum.Replayed)
	require.NotZero(t, sum.Completed)
	require.NotZero(t, sum.InFlight)
	require.NotZero(t, sum.Lost)

	f.advance(f.Lease + Grain)
	for n, end := 0, time.Now().Add(f.Lease+patience); n < len(f.keys); {
		_, err := f.stores[n%len(f.stores)].Begin(ctx, keyOf(n), printA)
		var flying *idem.InFlightError
		switch {
		case !errors.As(err, &flying):
			n++
		case f.Advance != nil || time.Now().After(end):
			require.Fail(t, "stuck", "key %d: %v", n, err)
		default:
			time.Sleep(min(flying.RetryAfter, time.Millisecond)) // its lease is not over yet
		}
	}
	f.advance(f.TTL + 2*f.Lease + Grain)
	return sum
}

// before and after are times of the backend: no later than now, and no earlier.

func (f *fire) before() time.Duration {
	return time.Duration(f.earliest.Load()) + f.ran()
}

func (f *fire) after() time.Duration {
	return time.Duration(f.latest.Load()) + f.ran()
}

// ran is what of the backend's time went by without being moved.
func (f *fire) ran() time.Duration {
	if f.Advance == nil || f.Runs {
		return time.Since(f.start)
	}
	return 0
}

func (f *fire) advance(d time.Duration) {
	if f.Advance == nil {
		return
	}
	f.latest.Add(int64(d))
	f.Advance(d)
	f.earliest.Add(int64(d))
}

// shoot is one caller: of the g-th process, so to speak.
func (f *fire) shoot(g int) {
	rnd := rand.New(rand.NewPCG(uint64(g), 1))
	s := f.stores[g%len(f.stores)]
	type turn struct {
		n     int
		token idem.Token
	}
	var late []turn // of owners that will come late
	for range f.Calls {
		if rnd.IntN(16) == 0 {
			f.advance(time.Duration(rnd.Int64N(int64(f.Lease) / 8)))
		}
		n := rnd.IntN(len(f.keys))
		if rnd.IntN(4) == 0 {
			n = rnd.IntN(min(20, len(f.keys))) // some are wanted by all
		}
		token, ok := f.begin(s, n)
		if !ok {
			continue
		}
		if f.Watch != nil {
			f.Watch()
		}
		if rnd.IntN(4) == 0 {
			runtime.Gosched() // others come while the work is done
		}
		switch what := rnd.IntN(10); {
		case what < 5:
			f.complete(s, n, token)
		case what < 6:
			if err := s.Release(ctx, token); err != nil && !errors.Is(err, idem.ErrLost) {
				f.t.Error(err)
			}
		case what < 7:
			func() {
				defer func() { _ = recover() }()
				defer s.Release(ctx, token)
				panic("the work failed")
			}()
		case what < 8:
			// It dies: nobody hears of the token again.
		default:
			if late = append(late, turn{n, token}); len(late) > 5 {
				f.complete(s, late[0].n, late[0].token)
				late = late[1:]
			}
		}
	}
	for _, l := range late {
		f.complete(s, l.n, l.token)
	}
}

// begin asks for key n, and reports false if others have it or had it.
func (f *fire) begin(s *idem.Store, n int) (idem.Token, bool) {
	k := &f.keys[n]
	k.mu.Lock()
	fence, completed, doneFrom := k.fence, k.completed, k.doneFrom
	k.mu.Unlock()
	claim, err := s.Begin(ctx, keyOf(n), printA)
	now := f.after()
	var flying *idem.InFlightError
	switch {
	case errors.As(err, &flying):
		if flying.RetryAfter > f.Lease {
			f.t.Errorf("key %d is stuck for %v", n, flying.RetryAfter)
		}
		return idem.Token{}, false
	case errors.Is(err, idem.ErrFull):
		return idem.Token{}, false
	case err != nil:
		f.t.Errorf("key %d: %v", n, err)
		return idem.Token{}, false
	case !claim.Acquired:
		if string(claim.Result.Body) != fmt.Sprint(n) {
			f.t.Errorf("key %d got the result of key %q", n, claim.Result.Body)
		}
		return idem.Token{}, false
	}
	if completed > 0 && now-doneFrom < f.TTL {
		f.t.Errorf("key %d was acquired %v after it was completed", n, now-doneFrom)
	}
	if claim.Token.Fence() <= fence {
		f.t.Errorf("key %d: fence %d after %d", n, claim.Token.Fence(), fence)
	}
	k.mu.Lock()
	k.fence = max(k.fence, claim.Token.Fence())
	k.mu.Unlock()
	return claim.Token, true
}

// complete completes key n, and notes it; a token that was overtaken must be told.
func (f *fire) complete(s *idem.Store, n int, token idem.Token) {
	k := &f.keys[n]
	k.mu.Lock()
	overtaken := k.fence > token.Fence()
	k.mu.Unlock()
	from := f.before()
	err := s.Complete(ctx, token, idem.Result{Status: 200, Body: []byte(fmt.Sprint(n))})
	switch {
	case err == nil && overtaken:
		f.t.Errorf("key %d: fence %d completed it though a later owner had it", n, token.Fence())
	case err == nil:
		k.mu.Lock()
		k.completed++
		k.doneFrom = max(k.doneFrom, from)
		k.mu.Unlock()
	case !errors.Is(err, idem.ErrLost):
		f.t.Error(err)
	}
}
