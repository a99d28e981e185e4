package redisync

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// Redis stands still: every call ends with its context, or its Timeout, nothing is
// acquired, and what was asked for meanwhile is not held by nobody afterwards.
func TestIdemStopped(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b, other := newIdem(t, s, IdemConfig{Timeout: 200 * time.Millisecond}), newIdem(t, s, IdemConfig{})
	token := idemAcquire(t, b, 1, idemLong)
	s.Freeze()
	for name, call := range map[string]func(context.Context) error{
		"Begin": func(ctx context.Context) error {
			e, err := b.Begin(ctx, idemKey(2), idemPrintA, idemLong)
			require.Zero(t, e)
			return err
		},
		"Complete": func(ctx context.Context) error { return b.Complete(ctx, token, []byte("v"), idemLong) },
		"Extend":   func(ctx context.Context) error { return b.Extend(ctx, token, idemLong) },
		"Release":  func(ctx context.Context) error { return b.Release(ctx, idem.NewToken(idemKey(3), 1, 1)) },
	} {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		for _, c := range []context.Context{short, t.Context()} {
			from := time.Now()
			err := call(c)
			require.ErrorIs(t, err, ErrUnknown, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, name)
			require.Less(t, time.Since(from), 2*time.Second, name)
		}
		cancel()
	}
	require.EqualValues(t, 8, b.Stats().Unknown)
	require.Positive(t, b.Stats().Undoing)
	s.Thaw()
	require.Eventually(t, func() bool {
		e, err := other.Begin(t.Context(), idemKey(2), idemPrintA, idemLong)
		return err == nil && e.State == idem.Acquired
	}, idemWithin, 5*time.Millisecond, "a lease of an hour was taken back")
	require.Eventually(t, func() bool { return b.Stats().Undoing == 0 }, idemWithin, idemPoll)
	require.NoError(t, b.Complete(t.Context(), token, []byte("v"), idemLong))
	require.Equal(t, "v", string(idemFind(t, other, 1, idem.Done).Value))
}

// More callers than the client has places for in its queue.
func TestIdemStoppedWithManyCallers(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	const timeout = 300 * time.Millisecond
	b := newIdem(t, s, IdemConfig{Timeout: timeout})
	idemAcquire(t, b, 0, idemLong)
	before := runtime.NumGoroutine()
	s.Freeze()
	from := time.Now()
	var wg sync.WaitGroup
	for n := range 3000 {
		wg.Go(func() {
			if e, err := b.Begin(t.Context(), idemKey(1+n), idemPrintA, idemLong); err == nil {
				t.Errorf("key %d: %v", n, e.State)
			}
		})
	}
	wg.Wait()
	require.Less(t, time.Since(from), timeout+3*time.Second, "it blocked")
	require.LessOrEqual(t, b.Stats().Undoing, maxIdemAttempts, "the others were not sent")
	s.Thaw()
	require.Eventually(t, func() bool { return b.Stats().Undoing == 0 }, idemWithin, idemPoll)
	for n := range 3000 {
		token := idemAcquire(t, b, 1+n, idemLong)
		require.NoError(t, b.Release(t.Context(), token))
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+10 }, idemWithin, idemPoll)
}

// A cancelled caller's Begin is not kept from being undone by its cancellation.
func TestIdemCancelled(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{})
	s.Freeze()
	gone, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := b.Begin(gone, idemKey(1), idemPrintA, idemLong)
		ended <- err
	}()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	s.Thaw()
	require.Eventually(t, func() bool {
		e, err := b.Begin(t.Context(), idemKey(1), idemPrintA, idemLong)
		return err == nil && e.State == idem.Acquired
	}, idemWithin, idemPoll)
}

// A master that became a replica is asked again, on another connection, since its
// name may stand for another server by then; and it is said not to have done it.
func TestIdemReadOnly(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{Timeout: 50 * time.Millisecond})
	s.Must("REPLICAOF", "127.0.0.1", "1")
	_, err := b.Begin(t.Context(), idemKey(1), idemPrintA, idemLong)
	require.ErrorIs(t, err, ErrReadOnly)
	require.ErrorContains(t, err, "was not executed")
	require.NotErrorIs(t, err, ErrUnknown)
	require.NotZero(t, b.Stats().Retried)
	d := b.own.dialer
	d.mu.Lock()
	dials := d.dials
	d.mu.Unlock()
	require.Greater(t, dials, uint64(1))
	s.Must("REPLICAOF", "NO", "ONE")
	idemAcquire(t, b, 1, idemLong)
}

// Without memory nothing is acquired, and whoever holds a key can still end its turn.
func TestIdemOutOfMemory(t *testing.T) {
	s := redistest.Start(t, redistest.Options{})
	b := newIdem(t, s, IdemConfig{})
	small, large, released, extended, done := idemAcquire(t, b, 1, idemLong), idemAcquire(t, b, 2, idemLong),
		idemAcquire(t, b, 3, idemLong), idemAcquire(t, b, 4, idemLong), idemAcquire(t, b, 5, idemLong)
	require.NoError(t, b.Complete(t.Context(), done, []byte("v"), idemLong))
	require.NoError(t, b.Release(t.Context(), idemAcquire(t, b, 6, idemLong)))
	s.Must("CONFIG", "SET", "maxmemory", "1mb") // less than an empty Redis has
	_, err := b.Begin(t.Context(), idemKey(7), idemPrintA, idemLong)
	require.ErrorIs(t, err, idem.ErrFull)
	require.ErrorContains(t, err, "out of memory")
	require.ErrorIs(t, b.Complete(t.Context(), large, make([]byte, idem.RoomyResult+1), idemLong), idem.ErrFull)
	idemFind(t, b, 2, idem.InFlight)
	require.NoError(t, b.Complete(t.Context(), small, make([]byte, idem.RoomyResult), idemLong), "a small one fits always")
	require.NoError(t, b.Release(t.Context(), released))
	require.NoError(t, b.Extend(t.Context(), extended, 2*idemLong))
	require.Greater(t, idemFind(t, b, 4, idem.InFlight).After, idemLong)
	require.Equal(t, "v", string(idemFind(t, b, 5, idem.Done).Value), "nothing was dropped")
	require.Len(t, idemFind(t, b, 1, idem.Done).Value, idem.RoomyResult)
	idemFind(t, b, 6, idem.Acquired) // a record that is there is used again
	allExpire(t, s)
	require.True(t, b.sendUndo(t.Context(), idemKey(2), large.Owner(), idemLong))
	s.Must("CONFIG", "SET", "maxmemory", "0")
	idemAcquire(t, b, 2, idemLong)
	idemAcquire(t, b, 7, idemLong)
	allExpire(t, s)
}
