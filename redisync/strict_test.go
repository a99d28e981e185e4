package redisync

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

func strict(c *Config) {
	c.Policies = map[string]Mode{"e": Strict}
	c.Deadline = 5 * time.Second
}

func TestStrictIsExactAmongNodes(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	nodes := []*node{}
	for range 3 {
		nodes = append(nodes, nodeOf(t, srv.URL(), on(t, 0, "100/d"), strict))
	}
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for range 40 {
				d, err := nodes[i%3].Take(t.Context(), "k", "e", 1)
				if err == nil && d.Allowed {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100, allowed.Load())
	var s StrictStats
	for _, n := range nodes {
		one := n.Stats().Strict
		s.Allowed += one.Allowed
		s.Denied += one.Denied
		s.Cached += one.Cached
		require.Zero(t, one.Failed)
	}
	require.EqualValues(t, 100, s.Allowed)
	require.EqualValues(t, 240-100, s.Denied+s.Cached)
	require.LessOrEqual(t, s.Denied, uint64(3), "a node asks for a key that was denied no more")
	var counted tickgate.PolicyStats
	for _, n := range nodes {
		p := n.gate.Stats().Policies[0]
		counted.Allowed += p.Allowed
		counted.Denied += p.Denied
	}
	require.EqualValues(t, 100, counted.Allowed, "the gates count what Redis decided")
	require.EqualValues(t, 240-100, counted.Denied)
	require.False(t, nodes[0].gate.Allow("k", "e"), "the gate itself allows nothing")
}

// asking makes a Sync over a fake, whose loop does not run.
func asking(t *testing.T, set policy.Set, change func(*Config)) (*Sync, *fakeRedis) {
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: c})
	require.NoError(t, err)
	cfg := Config{Gate: gate, Transport: redis, Clock: c, MaxAge: time.Second, Since: time.UnixMilli(1), Rand: rand.NewPCG(1, 1)}
	change(&cfg)
	require.NoError(t, cfg.check())
	s, err := join(t.Context(), cfg)
	require.NoError(t, err)
	return s, redis
}

func TestStrictDecisions(t *testing.T) {
	s, redis := asking(t, on(t, 0, "10/s name=orders"), strict)
	take := func(n int64) tickgate.Decision {
		d, err := s.Take(t.Context(), "k", "e", n)
		require.NoError(t, err)
		return d
	}
	d := take(7)
	require.True(t, d.Allowed)
	require.Equal(t, "orders", d.Limit)
	require.EqualValues(t, 3, d.Remaining)
	require.Equal(t, 700*time.Millisecond, d.ResetAfter.Round(time.Millisecond))

	d = take(5)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, 200*time.Millisecond, d.RetryAfter)
	calls := redis.calls
	redis.clock.Advance(50 * time.Millisecond)
	d = take(6)
	require.Equal(t, tickgate.Limited, d.Reason)
	require.Equal(t, 150*time.Millisecond, d.RetryAfter, "at least")
	require.Equal(t, calls, redis.calls, "it was not asked")
	require.True(t, take(3).Allowed, "fewer may be there")
	require.Equal(t, tickgate.TooCostly, take(11).Reason)
	require.Equal(t, tickgate.BadRequest, take(-1).Reason)
	redis.clock.Advance(time.Second)
	require.True(t, take(5).Allowed)

	d, err := s.Take(t.Context(), "k", "unknown", 1)
	require.NoError(t, err)
	require.Equal(t, tickgate.NoPolicy, d.Reason)
}

func TestStrictFailsClosed(t *testing.T) {
	s, redis := asking(t, on(t, 0, "1000/s"), strict)
	what := lostReply
	redis.script = func(int, Call) fate { return what }
	for range breaksAfter {
		d, err := s.Take(t.Context(), "k", "e", 1)
		require.ErrorIs(t, err, ErrUnknown)
		require.Equal(t, tickgate.Unsettled, d.Reason)
		require.Positive(t, d.RetryAfter)
	}
	calls := redis.calls
	d, err := s.Take(t.Context(), "k", "e", 1)
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorIs(t, err, ErrDown)
	require.False(t, d.Allowed)
	require.Equal(t, calls, redis.calls, "nothing is sent")
	st := s.remote.state()
	require.True(t, st.Broken)
	require.EqualValues(t, breaksAfter, st.Unknown)
	require.EqualValues(t, 1, st.Refused)

	redis.clock.Advance(backoffMost)
	_, err = s.Take(t.Context(), "k", "e", 1)
	require.ErrorIs(t, err, ErrUnknown, "a probe")
	what = answered
	redis.clock.Advance(backoffMost)
	d, err = s.Take(t.Context(), "k", "e", 1)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.False(t, s.remote.state().Broken)
}

// stuck never answers.
type stuck struct{ Transport }

func (stuck) Call(ctx context.Context, _ Call) Reply {
	<-ctx.Done()
	return Reply{Err: errors.Join(ErrUnknown, ctx.Err())}
}

func TestStrictKeepsItsDeadline(t *testing.T) {
	s, _ := asking(t, on(t, 0, "1000/s"), func(c *Config) {
		strict(c)
		c.Deadline = 5 * time.Millisecond
	})
	s.remote.Transport = stuck{}
	begun := time.Now()
	var wg sync.WaitGroup
	for range 4 { // the others wait for the first
		wg.Go(func() {
			_, err := s.Take(context.Background(), "k", "e", 1)
			require.Error(t, err)
		})
	}
	wg.Wait()
	require.Less(t, time.Since(begun), time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Take(ctx, "k", "e", 1)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, s.remote.state().Broken)
}

// slow answers after a while, of real time.
type slow struct {
	Transport
	takes time.Duration
	sent  atomic.Int64
}

func (s *slow) Call(ctx context.Context, c Call) Reply {
	s.sent.Add(1)
	select {
	case <-ctx.Done():
		return Reply{Err: errors.Join(ErrUnknown, ctx.Err())}
	case <-time.After(s.takes):
		return Reply{Values: []int64{0, Unit, 1, 0, 0, 0, 1, 1000, 1_000_000, 1000 * Unit, 1, 0}}
	}
}

func TestABurstOnOneKeyDoesNotBreakTheOthers(t *testing.T) {
	s, _ := asking(t, on(t, 0, "1000/s"), func(c *Config) {
		strict(c)
		c.Deadline = 40 * time.Millisecond
	})
	redis := &slow{takes: 15 * time.Millisecond}
	s.remote.Transport = redis
	var wg sync.WaitGroup
	var crowded, other atomic.Int64
	for range 60 {
		wg.Go(func() {
			_, err := s.Take(context.Background(), "k", "e", 1)
			switch {
			case errors.Is(err, ErrCrowded):
				crowded.Add(1)
			case err != nil && !errors.Is(err, ErrUnknown):
				other.Add(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, other.Load())
	require.Greater(t, crowded.Load(), int64(40))
	require.LessOrEqual(t, redis.sent.Load(), int64(10))
	require.False(t, s.remote.state().Broken)
	require.NotErrorIs(t, ErrCrowded, ErrDown)

	// What had all the time and failed counts.
	redis.takes = time.Minute
	for range breaksAfter {
		_, err := s.Take(context.Background(), "other", "e", 1)
		require.ErrorIs(t, err, ErrUnknown)
	}
	require.True(t, s.remote.state().Broken)
}

func TestTooLittleTimeIsNotAsked(t *testing.T) {
	s, _ := asking(t, on(t, 0, "1000/s"), strict)
	redis := &slow{}
	s.remote.Transport = redis
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
	defer cancel()
	_, err := s.Take(ctx, "k", "e", 1)
	require.ErrorIs(t, err, ErrLate)
	require.Zero(t, redis.sent.Load())
	_, err = s.Take(t.Context(), "k", "e", 1)
	require.NoError(t, err)

	for range 40 { // now calls take 100 ms
		s.remote.times.add(100 * time.Millisecond)
	}
	s.remote.nearly.Store(int64(2 * s.remote.times.quantile(.99)))
	ctx, cancel = context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	_, err = s.Take(ctx, "k", "e", 1)
	require.ErrorIs(t, err, ErrLate)
	s.remote.Deadline = 150 * time.Millisecond
	_, err = s.Take(t.Context(), "k", "e", 1)
	require.NoError(t, err, "a call with all of its time is always sent")
}

func TestSpentCreditAsks(t *testing.T) {
	s, redis := asking(t, on(t, 4, "10/h"), func(c *Config) { c.Spent, c.Deadline = Ask, time.Second })
	for range 10 {
		d, err := s.Take(t.Context(), "k", "e", 1)
		require.NoError(t, err)
		require.True(t, d.Allowed)
	}
	require.EqualValues(t, 6, s.remote.state().Allowed, "what the credit does not hold")
	require.Equal(t, 1, len(redis.keys))
	require.EqualValues(t, 4, redis.keys[BudgetKey("tickgate", "e", OnlyLimit, "k")].level/Unit, "of the other four Redis is not told yet")
}

func TestStrictFollowsThePolicy(t *testing.T) {
	s, _ := asking(t, on(t, 0, "1/h"), strict)
	take := func() (tickgate.Decision, error) { return s.Take(t.Context(), "k", "e", 1) }
	d, _ := take()
	require.True(t, d.Allowed)
	d, _ = take()
	require.False(t, d.Allowed)
	set := on(t, 0, "1/h burst=3")
	require.NoError(t, s.gate.Apply(set))
	s.engine.refresh()
	d, err := take()
	require.NoError(t, err)
	require.True(t, d.Allowed, "the denial was by the policy before")
	require.NoError(t, s.gate.Apply(on(t, 0, "1/h", "2/d")))
	s.engine.refresh()
	d, err = take()
	require.ErrorContains(t, err, "one token bucket")
	require.False(t, d.Allowed)
}

func TestStrictDenialsAreCheckedEveryMaxAge(t *testing.T) {
	s, redis := asking(t, on(t, 0, "1/h"), strict)
	take := func() tickgate.Decision {
		d, err := s.Take(t.Context(), "k", "e", 1)
		require.NoError(t, err)
		return d
	}
	require.True(t, take().Allowed)
	require.False(t, take().Allowed)
	redis.clock.Advance(900 * time.Millisecond)
	require.Equal(t, time.Hour-900*time.Millisecond, take().RetryAfter.Round(time.Millisecond), "from memory")
	require.EqualValues(t, 1, s.remote.state().Cached)
	clear(redis.keys) // somebody gives the budget back
	require.False(t, take().Allowed)
	redis.clock.Advance(100 * time.Millisecond)
	require.True(t, take().Allowed, "it was asked for again after MaxAge")
}

func TestStrictIsDeniedAfterClose(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	n := nodeOf(t, srv.URL(), on(t, 0, "2/h"), strict)
	n.leave(t)
	for range 4 { // the gate has two by itself
		d, err := n.Take(t.Context(), "k", "e", 1)
		require.ErrorIs(t, err, ErrClosed)
		require.False(t, d.Allowed)
		require.Equal(t, tickgate.Unsettled, d.Reason)
	}
	d, err := n.Take(t.Context(), "k", "e", -1)
	require.NoError(t, err)
	require.Equal(t, tickgate.BadRequest, d.Reason)
}

func TestDoorsAreBounded(t *testing.T) {
	d := newDoors()
	now := clock.Time(0)
	for i := range 200_000 {
		key := string(binaryKey(i))
		o := d.enter(key)
		o.deny(tickgate.Decision{RetryAfter: time.Hour}, 1, now, time.Hour)
		d.leave(key, o, now)
	}
	n := 0
	for i := range d.shards {
		n += len(d.shards[i].keys)
	}
	require.LessOrEqual(t, n, 64*mostDoors)
	require.Greater(t, n, 32*mostDoors)
	now = clock.Time(2 * time.Hour)
	for i := range 100_000 {
		key := string(binaryKey(i + 200_000))
		d.leave(key, d.enter(key), now)
	}
	n = 0
	for i := range d.shards {
		n += len(d.shards[i].keys)
	}
	require.Less(t, n, 64*mostDoors/100, "what is over goes while others come")
}

func binaryKey(i int) []byte { return []byte{byte(i), byte(i >> 8), byte(i >> 16), 'k'} }
