package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
)

// timers are run by the test.
type timers struct {
	mu    sync.Mutex
	every time.Duration
	due   func()
	made  int
}

func (m *timers) after(d time.Duration, f func()) func() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.every, m.due = d, f
	m.made++
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		was := m.due != nil
		m.due = nil
		return was
	}
}

// fire runs the timer that is armed, and reports whether there was one.
func (m *timers) fire() bool {
	m.mu.Lock()
	f := m.due
	m.due = nil
	m.mu.Unlock()
	if f != nil {
		f()
	}
	return f != nil
}

// posts is a request without a network.
func posts(h http.Handler, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Pattern = "POST /"
	r.Header.Set("X-API-Key", "a")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A handler that takes longer than the lease keeps its claim.
func TestTheLeaseIsExtended(t *testing.T) {
	c, m := clock.NewManual(0), &timers{}
	var once http.Handler
	runs := 0
	once = onceOf(t, storeOf(t, c), func(c *httplimit.IdempotencyConfig) { c.Timer = m.after }).Wrap(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			runs++
			for range 10 {
				require.Equal(t, 10*time.Second, m.every)
				c.Advance(m.every)
				require.True(t, m.fire())
			}
			require.Equal(t, 409, posts(once, "k", "x").Code, "after 100 s")
			require.NoError(t, r.Context().Err())
			_, _ = io.WriteString(w, "slow")
		}))
	require.Equal(t, "slow", posts(once, "k", "x").Body.String())
	require.False(t, m.fire(), "stopped with the handler")
	require.Equal(t, "slow", posts(once, "k", "x").Body.String())
	require.Equal(t, 1, runs)
}

// An owner that was away for too long loses its claim: its context is cancelled, and
// its result does not replace that of the next.
func TestALostLeaseCancelsTheHandler(t *testing.T) {
	c, m := clock.NewManual(0), &timers{}
	var once http.Handler
	var reported []error
	runs := 0
	once = onceOf(t, storeOf(t, c), func(c *httplimit.IdempotencyConfig) {
		c.Timer = m.after
		c.Report = func(_ *http.Request, err error) { reported = append(reported, err) }
	}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		if runs > 1 {
			_, _ = io.WriteString(w, "second")
			return
		}
		due := m.due
		c.Advance(30 * time.Second)
		require.Equal(t, "second", posts(once, "k", "x").Body.String(), "free after the lease")
		due()
		require.ErrorIs(t, context.Cause(r.Context()), idem.ErrLost)
		_, _ = io.WriteString(w, "first")
	}))
	require.Equal(t, "first", posts(once, "k", "x").Body.String())
	require.Equal(t, "second", posts(once, "k", "x").Body.String())
	require.Equal(t, 2, runs)
	require.Len(t, reported, 1)
	require.ErrorIs(t, reported[0], idem.ErrLost)
}

// faulty is a store that fails as it is told.
type faulty struct {
	*idem.Store
	begin, extend error
}

func (f *faulty) Begin(ctx context.Context, k idem.Key, p idem.Fingerprint) (idem.Claim, error) {
	if f.begin != nil {
		return idem.Claim{}, f.begin
	}
	return f.Store.Begin(ctx, k, p)
}

func (f *faulty) Extend(ctx context.Context, token idem.Token) error {
	if f.extend != nil {
		return f.extend
	}
	return f.Store.Extend(ctx, token)
}

// Complete fails as a network does when its context is over.
func (f *faulty) Complete(ctx context.Context, token idem.Token, r idem.Result) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return f.Store.Complete(ctx, token, r)
}

// A result is kept though the client is gone when it comes.
func TestKeepingDoesNotNeedTheClient(t *testing.T) {
	runs := 0
	ctx, cancel := context.WithCancel(context.Background())
	once := onceOf(t, &faulty{Store: storeOf(t, clock.NewManual(0))}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		runs++
		cancel()
		_, _ = io.WriteString(w, "done")
	}))
	r := httptest.NewRequest("POST", "/", strings.NewReader("x")).WithContext(ctx)
	r.Pattern = "POST /"
	r.Header = http.Header{"X-Api-Key": {"a"}, "Idempotency-Key": {"k"}}
	once.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, "done", posts(once, "k", "x").Body.String())
	require.Equal(t, 1, runs)
}

func TestAStoreThatFails(t *testing.T) {
	m, f := &timers{}, &faulty{Store: storeOf(t, clock.NewManual(0)), extend: errors.New("network")}
	runs := 0
	once := onceOf(t, f, func(c *httplimit.IdempotencyConfig) { c.Timer = m.after }).Wrap(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			runs++
			require.True(t, m.fire())
			require.True(t, m.fire(), "it is tried again")
			require.NoError(t, r.Context().Err())
			_, _ = io.WriteString(w, "done")
		}))
	require.Equal(t, "done", posts(once, "k", "x").Body.String())

	f.begin = errors.New("dial 10.0.0.1 with password secret")
	w := posts(once, "k", "x")
	require.Equal(t, 503, w.Code, "not run without knowing")
	require.NotContains(t, w.Body.String(), "secret")
	require.Equal(t, 1, runs)
}
