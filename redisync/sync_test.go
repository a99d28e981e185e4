package redisync

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

func TestCreditCloseTellsEverything(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 10, "100/h"), nil)
	for range 7 {
		require.True(t, n.gate.Allow("k", "e"))
	}
	s := n.leave(t)
	require.EqualValues(t, 7, s.Charged)
	require.EqualValues(t, 93, level(t, srv, BudgetKey("tickgate", "e", OnlyLimit, "k")))
	require.Zero(t, s.Records-s.Idle)
	require.EqualValues(t, 0, srv.Must("ZCARD", NodesKey("tickgate")))
}

func TestLeaseCloseGivesBack(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "100/h"), func(c *Config) {
		as(Lease)(c)
		c.Quiet = policyMax
	})
	key, _ := LeaseKey("tickgate", "e", OnlyLimit, "k")
	require.False(t, n.gate.Allow("k", "e"))
	require.Eventually(t, func() bool { return n.gate.Allow("k", "e") }, tenSeconds, tick)
	s := n.leave(t)
	require.Greater(t, s.Leased, s.Returned)
	require.EqualValues(t, s.Leased-1, s.Returned)
	require.EqualValues(t, 99, level(t, srv, key))
}

func TestJoinAndLeave(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	a := nodeOf(t, srv.URL(), on(t, 16, "100/s"), nil)
	require.Equal(t, 1, a.Stats().Nodes)
	b := nodeOf(t, srv.URL(), on(t, 16, "100/s"), nil)
	require.Equal(t, 2, b.Stats().Nodes, "from the beginning")
	require.EqualValues(t, 16, b.Stats().Overshoot)
	require.Eventually(t, func() bool { return a.Stats().Nodes == 2 }, tenSeconds, tick)
	b.leave(t)
	require.Eventually(t, func() bool { return a.Stats().Nodes == 1 }, tenSeconds, tick)
}

func TestPolicyChangesLiveInRedis(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	a := nodeOf(t, srv.URL(), on(t, 10, "100/h name=x"), nil)
	b := nodeOf(t, srv.URL(), on(t, 10, "100/h name=x"), nil)
	key := BudgetKey("tickgate", "e", "x", "k")
	require.True(t, a.gate.AllowN("k", "e", 10))
	require.Eventually(t, func() bool { return a.Stats().Charged == 10 }, tenSeconds, tick)
	set := on(t, 10, "100/h burst=50 name=x")
	require.NoError(t, a.gate.Apply(set))
	require.NoError(t, b.gate.Apply(set))
	require.Eventually(t, func() bool { return level(t, srv, key) == 40 }, tenSeconds, tick, "without a use")
	require.True(t, b.gate.AllowN("k", "e", 10))
	require.Eventually(t, func() bool { return b.Stats().Charged == 10 }, tenSeconds, tick)
	require.EqualValues(t, 30, level(t, srv, key))
	require.True(t, strings.HasSuffix(srv.Text("HGET", key, "p"), ":50000000"))
}

func TestFuseOpensAndCloses(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 10, "1000/s"), func(c *Config) { c.MaxAge = 200 * time.Millisecond })
	require.True(t, n.gate.Allow("k", "e"))
	srv.Freeze()
	h, err := n.gate.Handle("k", "e")
	require.NoError(t, err)
	used, slowest := uint64(1), time.Duration(0)
	for !n.Stats().Away || n.Stats().Granted < 50 {
		begun := time.Now()
		if h.Allow() {
			used++
		}
		slowest = max(slowest, time.Since(begun))
	}
	require.Less(t, slowest, 100*time.Millisecond, "nobody waits")
	srv.Thaw()
	require.Eventually(t, func() bool {
		s := n.Stats()
		return !s.Away && s.Down == 0 && s.Parked == 0
	}, tenSeconds, tick)
	s := n.leave(t)
	require.EqualValues(t, 1, s.FuseOpened)
	require.Positive(t, s.Unknown)
	require.Zero(t, s.Forgiven)
	require.LessOrEqual(t, s.Charged, used, "nothing is charged twice")
}

func TestCloseWithoutRedisSaysWhatIsNotTold(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	before := runtime.NumGoroutine()
	n := nodeOf(t, srv.URL(), on(t, 10, "100/h"), nil)
	srv.Freeze()
	require.True(t, n.gate.Allow("k", "e"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	err := n.Close(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "1 keys")
	require.Less(t, time.Since(begun), 3*time.Second)
	require.Equal(t, err, n.Close(t.Context()), "again")
	require.True(t, n.gate.AllowN("k", "e", 99), "the limit is its own again")
	require.False(t, n.gate.Allow("k", "e"))
	_, err = n.Take(t.Context(), "k", "e", 1)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, tenSeconds, tick)
}

func TestCloseDeniesWhileItFlushes(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 100, "100000/s"), nil)
	h, err := n.gate.Handle("k", "e")
	require.NoError(t, err)
	stop, done, used := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			d := h.Take(1)
			if d.Allowed {
				used++
			}
			if d.Reason == tickgate.Unsettled && n.engineClosing() {
				return
			}
		}
	}()
	time.Sleep(20 * time.Millisecond)
	s := n.leave(t)
	close(stop)
	<-done
	require.EqualValues(t, s.Charged, used, "each token that was used before is told")
}

// engineClosing reports whether Close has begun to flush.
func (n *node) engineClosing() bool {
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	return n.engine.closing
}

func TestNewNeedsAGateThatIsNotShared(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 10, "100/h"), nil)
	_, err := New(t.Context(), Config{Gate: n.gate, URL: srv.URL(), MaxAge: time.Second})
	require.ErrorIs(t, err, tickgate.ErrShared)
	n.leave(t)
	s, err := New(t.Context(), Config{Gate: n.gate, URL: srv.URL(), MaxAge: time.Second})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
}
