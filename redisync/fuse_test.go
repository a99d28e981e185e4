package redisync

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

// laned is a fake of two servers: budgets of the key "k" and all that does not belong to a
// budget are in one, the rest in the other.
type laned struct{ *fakeRedis }

func (laned) Lanes() int { return 2 }

func (laned) Lane(key string) int {
	if strings.HasSuffix(key, "0") || strings.HasSuffix(key, BudgetKey("", "e", OnlyLimit, "k")[1:]) {
		return 1
	}
	return 0
}

func closed(c *Config) { c.Away = Closed }

func lanedBench(t *testing.T) *bench {
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	return benchWith(t, c, redis, on(t, 10, "1000/s"), func(c *Config) {
		c.Transport = laned{redis}
		closed(c)
	})
}

func TestFuseIsNotForOneLane(t *testing.T) {
	b := lanedBench(t)
	lane := laned{}.Lane
	require.Equal(t, 0, lane(NodesKey("tickgate")))
	require.Equal(t, 1, b.engine.laneOf(BudgetKey("tickgate", "e", OnlyLimit, "k")))
	require.NotEmpty(t, b.engine.lanes[1].pulse)
	b.redis.script = func(_ int, c Call) fate { // that of the heartbeats is gone
		if lane(c.Key) == 0 {
			return lostRequest
		}
		return answered
	}
	require.InDelta(t, 6000, b.drain(5*second), 200, "the other's keys are as before")
	require.False(t, b.engine.state().Away)
	require.Equal(t, 1, b.engine.state().Down)
	b.run(3 * second)
	require.False(t, b.engine.state().Away, "without a use as well")

	b.redis.script = away
	b.run(5 * second)
	require.True(t, b.engine.state().Away)
	require.False(t, b.gate.Allow("k", "e"))
	b.redis.script = nil
	calls := b.redis.calls
	b.run(backoffMost + 10*time.Millisecond)
	require.False(t, b.engine.state().Away, "nobody used anything")
	require.Greater(t, b.redis.calls, calls)
	require.True(t, b.gate.Allow("k", "e"))
	require.Empty(t, b.redis.keys[b.engine.lanes[1].pulse], "a pulse leaves nothing")
}

// A server that says that it does not do it now, or never, is there.
func TestFuseIsNotForRefusals(t *testing.T) {
	for _, said := range []error{ErrRefused, ErrBusy, ErrReadOnly, ErrMoved} {
		b := benchOf(t, on(t, 10, "1000/s"), closed)
		b.redis.err = func(Call) error { return said }
		b.run(5 * second)
		require.False(t, b.engine.state().Away, said)
		b.redis.err = func(c Call) error { // of another type, say
			if c.Key == NodesKey("tickgate") {
				return said
			}
			return nil
		}
		b.run(second)
		require.Positive(t, b.drain(second), said)
		require.Zero(t, b.engine.state().FuseOpened)
	}
	b := benchOf(t, on(t, 10, "1000/s"), closed)
	b.redis.err = func(Call) error { return ErrDown }
	b.run(3 * second)
	require.True(t, b.engine.state().Away)
}
