package redisync

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// tally counts what became of takes of one token.
type tally struct{ done, unknown, unsent atomic.Int64 }

func (y *tally) count(t *testing.T, err error) {
	switch {
	case err == nil:
		y.done.Add(1)
	case errors.Is(err, ErrUnknown):
		y.unknown.Add(1)
	case errors.Is(err, ErrDown), errors.Is(err, ErrMoved), errors.Is(err, ErrReadOnly), errors.Is(err, ErrBusy):
		y.unsent.Add(1)
	default:
		t.Errorf("refused: %v", err)
	}
}

// charged requires that what was charged is what was answered, and at most what is
// unknown besides: nothing was sent twice.
func (y *tally) charged(t *testing.T, n int64) {
	t.Helper()
	t.Logf("charged %d, answered %d, unknown %d, not sent %d", n, y.done.Load(), y.unknown.Load(), y.unsent.Load())
	require.GreaterOrEqual(t, n, y.done.Load())
	require.LessOrEqual(t, n, y.done.Load()+y.unknown.Load())
}

const lots = 1_000_000 // tokens

func takeOne() []string {
	p := still(lots)
	return TakeArgs{CreditArgs: CreditArgs{Policy: p, Keep: 600_000, Est: p.C, Debt: p.C}, N: 1}.Args()
}

// used returns how many tokens keys have lost.
func used(srv *redistest.Server, keys ...string) (n int64) {
	for _, k := range keys {
		if l := srv.Text("HGET", k, "l"); l != "" {
			var level int64
			fmt.Sscan(l, &level)
			n += lots - (level+Unit-1)/Unit
		}
	}
	return n
}

// traffic takes tokens of keys on both connections until stop, and returns the tally
// when all are answered.
func traffic(t *testing.T, c *Client, keys []string, deadline time.Duration) (stop func() *tally) {
	y := new(tally)
	end := make(chan struct{})
	var wg sync.WaitGroup
	going := func() bool {
		select {
		case <-end:
			return false
		default:
			return true
		}
	}
	for w := range 3 {
		wg.Go(func() {
			calls, replies := make([]Call, 16), make([]Reply, 16)
			for n := w; going(); n++ {
				for i := range calls {
					calls[i] = Call{Key: keys[(n*16+i)%len(keys)], Args: takeOne()}
				}
				c.Sync(soon(t, deadline), calls, replies)
				for _, r := range replies {
					y.count(t, r.Err)
				}
				if replies[0].Err != nil {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	wg.Go(func() {
		for n := 0; going(); n++ {
			err := c.Call(soon(t, deadline), Call{Key: keys[n%len(keys)], Args: takeOne()}).Err
			if y.count(t, err); err != nil {
				time.Sleep(time.Millisecond)
			}
		}
	})
	return func() *tally { close(end); wg.Wait(); return y }
}

func someKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = BudgetKey("tickgate", "orders", "l", fmt.Sprint(i))
	}
	return keys
}

func TestTransportLearnsTheScriptAgain(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	before := c.Stats().NoScript
	srv.Must("SCRIPT", "FLUSH")
	for _, r := range syncs(t, c, credits(16)) {
		require.Equal(t, int64(1), r.Total)
	}
	require.Equal(t, before+16, c.Stats().NoScript)
	srv.Must("SCRIPT", "FLUSH")
	require.NoError(t, c.Call(soon(t, time.Second), Call{Key: "k", Args: takeOne()}).Err)
	require.Equal(t, before+17, c.Stats().NoScript)
}

func TestTransportFindsItsWayBackAfterAKill(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	keys := someKeys(5)
	stop := traffic(t, c, keys, time.Second)
	for range 20 {
		srv.Must("CLIENT", "KILL", "TYPE", "normal")
		time.Sleep(5 * time.Millisecond)
	}
	stop().charged(t, used(srv, keys...))
	back(t, c, "k")
	require.Greater(t, c.Stats().Dials, uint64(20))
}

// back requires that both connections serve again soon.
func back(t *testing.T, c *Client, key string) {
	t.Helper()
	replies := make([]Reply, 1)
	require.Eventually(t, func() bool {
		c.Sync(soon(t, time.Second), []Call{{Key: key, Args: takeOne()}}, replies)
		return replies[0].Err == nil
	}, 10*time.Second, 5*time.Millisecond, "Sync: %v", replies[0].Err)
	require.Eventually(t, func() bool {
		return c.Call(soon(t, time.Second), Call{Key: key, Args: takeOne()}).Err == nil
	}, 10*time.Second, 5*time.Millisecond, "Call")
}

func TestTransportAnswersByTheDeadline(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	srv.Freeze()
	y := new(tally)
	calls, replies := make([]Call, 16), make([]Reply, 16)
	for i := range calls {
		calls[i] = Call{Key: "k", Args: takeOne()}
	}
	for range 10 {
		start := time.Now()
		c.Sync(soon(t, 20*time.Millisecond), calls, replies)
		require.Less(t, time.Since(start), 5*time.Second)
		for i, r := range replies {
			require.ErrorIs(t, r.Err, ErrUnknown, i)
			y.count(t, r.Err)
		}
		start = time.Now()
		r := c.Call(soon(t, 2*time.Millisecond), Call{Key: "k", Args: takeOne()})
		require.Less(t, time.Since(start), 5*time.Second)
		require.ErrorIs(t, r.Err, ErrUnknown)
		y.count(t, r.Err)
	}
	srv.Thaw()
	back(t, c, "other")
	require.Positive(t, used(srv, "k"))
	require.LessOrEqual(t, used(srv, "k"), y.unknown.Load(), "none was executed twice; one that was given up before it was sent is unknown, too")
}

func TestTransportSaysWhatWasNotSent(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	srv.Kill()
	require.Eventually(t, func() bool {
		return errors.Is(c.Call(soon(t, time.Second), Call{Key: "k", Args: takeOne()}).Err, ErrDown)
	}, 5*time.Second, time.Millisecond)
	replies := make([]Reply, 2)
	calls := []Call{{Key: "k", Args: takeOne()}, {Key: "k2", Args: takeOne()}}
	require.Eventually(t, func() bool {
		c.Sync(soon(t, time.Second), calls, replies)
		return errors.Is(replies[0].Err, ErrDown) && errors.Is(replies[1].Err, ErrDown)
	}, 5*time.Second, time.Millisecond)
	require.ErrorContains(t, replies[0].Err, srv.Addr())
	srv.Restart()
	back(t, c, "k")

	ctx := soon(t, time.Nanosecond)
	<-ctx.Done()
	c.Sync(ctx, calls, replies)
	require.ErrorIs(t, replies[1].Err, ErrDown)
	c.Close()
	c.Close()
	require.ErrorIs(t, c.Call(soon(t, time.Second), calls[0]).Err, ErrDown)
	c.Sync(soon(t, time.Second), nil, nil)
}

func TestTransportLeavesAServerThatBecameAReplica(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	other := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	dials := c.Stats().Dials
	srv.Must("REPLICAOF", "127.0.0.1", fmt.Sprint(other.Port()))
	replies := make([]Reply, 1)
	c.Sync(soon(t, time.Second), []Call{{Key: "k", Args: takeOne()}}, replies)
	require.ErrorIs(t, replies[0].Err, ErrReadOnly)
	require.ErrorIs(t, c.Call(soon(t, time.Second), Call{Key: "k", Args: takeOne()}).Err, ErrReadOnly)
	srv.Must("REPLICAOF", "NO", "ONE")
	back(t, c, "k")
	require.Greater(t, c.Stats().Dials, dials, "the address was looked up again")
}

func TestTransportIsToldOfAFullServer(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	srv.Must("CONFIG", "SET", "maxmemory", "1")
	require.ErrorIs(t, c.Call(soon(t, time.Second), Call{Key: "k", Args: takeOne()}).Err, ErrBusy)
	require.Empty(t, srv.Keys())
	srv.Must("CONFIG", "SET", "maxmemory", "0")
	back(t, c, "k")
}

func TestTransportOverASocketWithTLSAndUsers(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{Password: "p", ACL: []string{"user app on >q@/: ~* +@all"}})
	for _, url := range []string{
		"unix://:p@" + srv.Socket(),
		"unix://app:q%40%2F%3A@" + srv.Socket() + "?db=2",
		"redis://app:q%40%2F%3A@" + srv.Addr() + "/3",
	} {
		syncs(t, dialed(t, url), credits(4))
	}
	require.Equal(t, "4", fmt.Sprint(srv.Must("DBSIZE")), "the others are in databases of their own")
	secure := redistest.Start(t, redistest.Options{TLS: true, ClientCert: true, Password: "p"})
	c := dialed(t, secure.URL())
	syncs(t, c, credits(16))
	secure.Must("CLIENT", "KILL", "TYPE", "normal")
	back(t, c, "k")
}

func TestTransportBoundsWhatWaits(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	srv.Freeze()
	many := func(n int, call func() error) (down, unknown int64) {
		var wg sync.WaitGroup
		var d, u atomic.Int64
		start := time.Now()
		for range n {
			wg.Go(func() {
				if err := call(); errors.Is(err, ErrDown) {
					d.Add(1)
				} else if errors.Is(err, ErrUnknown) {
					u.Add(1)
				}
			})
		}
		wg.Wait()
		require.Less(t, time.Since(start), 3*time.Second)
		return d.Load(), u.Load()
	}
	calls := []Call{{Key: "k", Args: takeOne()}}
	down, unknown := many(mostWaiting+50, func() error {
		replies := make([]Reply, 1)
		c.Sync(soon(t, 300*time.Millisecond), calls, replies)
		return replies[0].Err
	})
	require.Equal(t, int64(mostWaiting+50), down+unknown)
	require.GreaterOrEqual(t, down, int64(50))

	// Strict calls: more than fit the queue, and still by the deadline.
	down, unknown = many(3*mostWaiting, func() error {
		return c.Call(soon(t, 300*time.Millisecond), calls[0]).Err
	})
	require.Equal(t, int64(3*mostWaiting), down+unknown)
	srv.Thaw()
	back(t, c, "other")
	require.Eventually(t, func() bool {
		return c.Call(soon(t, time.Second), calls[0]).Err == nil && c.direct.Load() == 0 && c.strict.dialer.connecting.Load() == 0
	}, 5*time.Second, time.Millisecond, "the strict line is in use again")
}

func TestStrictCallsGoWithTheBatchesUntilTheirLineIsBack(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	c := dialed(t, srv.URL())
	for range 50 {
		for l := range c.strict.dialer.links { // nobody else is at it: it is idle
			l.Conn.Close()
		}
		y := new(tally)
		for range 5 {
			y.count(t, c.Call(soon(t, time.Second), Call{Key: "k", Args: takeOne()}).Err)
		}
		require.LessOrEqual(t, y.unknown.Load(), int64(1), "the first found the broken line")
		require.Zero(t, y.unsent.Load())
		require.Eventually(t, func() bool {
			c.strict.dialer.mu.Lock()
			defer c.strict.dialer.mu.Unlock()
			return len(c.strict.dialer.links) == 1 && len(c.strict.dialer.busy) == 0
		}, 5*time.Second, time.Millisecond)
	}
}

func TestTransportClosesThoughRedisIsStopped(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	before := runtime.NumGoroutine()
	ctx := soon(t, 10*time.Second)
	c, err := Dial(ctx, srv.URL())
	require.NoError(t, err)
	srv.Freeze()
	defer srv.Thaw()
	answers := make(chan error, 2)
	go func() { answers <- c.Call(ctx, Call{Key: "k", Args: takeOne()}).Err }()
	go func() {
		replies := make([]Reply, 1)
		c.Sync(ctx, []Call{{Key: "k", Args: takeOne()}}, replies)
		answers <- replies[0].Err
	}()
	require.Eventually(t, func() bool { return len(c.bulk.waiting) == 1 && c.direct.Load() == 1 }, time.Second, time.Millisecond)
	start := time.Now()
	c.Close()
	require.ErrorIs(t, <-answers, ErrUnknown)
	require.ErrorIs(t, <-answers, ErrUnknown)
	require.Less(t, time.Since(start), 4*time.Second)
	srv.Wait("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}
