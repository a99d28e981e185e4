package redisync

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

func away(n int, c Call) fate { return lostRequest }

// drain takes all it can for a while.
func (b *bench) drain(d time.Duration) (n int) {
	for ; d > 0; d -= time.Millisecond {
		for b.gate.Allow("k", "e") {
			n++
		}
		b.step()
		b.clock.Advance(time.Millisecond)
	}
	return n
}

func TestAwayShare(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/s"), func(c *Config) { c.Nodes = 4 })
	require.Equal(t, 10, b.takes(99))
	b.run(200 * time.Millisecond)
	b.redis.script = away
	require.Equal(t, 10, b.drain(990*time.Millisecond), "the credit, and no more before MaxAge")
	require.False(t, b.engine.state().Away)
	// From then on a quarter: what was left was 100, and 25 a second.
	n := b.drain(100 * time.Millisecond)
	require.InDelta(t, 25, n, 13)
	require.True(t, b.engine.state().Away)
	require.EqualValues(t, 1, b.engine.state().FuseOpened)
	n = b.drain(10 * second)
	require.InDelta(t, 250, n, 3)

	b.redis.script = nil
	granted := b.engine.state().Granted
	b.run(3 * second)
	s := b.engine.state()
	require.False(t, s.Away)
	require.Zero(t, s.Parked)
	require.Less(t, s.Charged, granted, "what was refilled meanwhile is not charged")
}

func TestAwayShareChargesWhatIsNotRefilled(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/h"), func(c *Config) { c.Nodes = 2 })
	require.Equal(t, 10, b.takes(99))
	b.run(20 * time.Millisecond)
	b.redis.script = func(int, Call) fate { return lostReply }
	n := b.drain(3 * second)
	require.Equal(t, 10+10+40, n+10, "the credit, and then half of the 80 that are left")
	b.redis.script = nil
	b.run(5 * second)
	require.EqualValues(t, 100-60, b.level()/Unit, "each once, whatever was executed")
	require.Zero(t, b.engine.state().Parked)
	require.Equal(t, 10, b.takes(99))
}

func TestAwayOpen(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/s"), func(c *Config) { c.Nodes, c.Away = 4, Open })
	b.redis.script = away
	require.Equal(t, 10, b.drain(900*time.Millisecond))
	b.drain(200 * time.Millisecond)
	require.InDelta(t, 1000, b.drain(10*second), 20)
}

func TestAwayClosed(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/s"), func(c *Config) { c.Away = Closed })
	b.redis.script = away
	require.Equal(t, 10, b.drain(3*second))
	require.True(t, b.engine.state().Away)
	d := b.gate.Take("other", "e", 1)
	require.Equal(t, tickgate.Unsettled, d.Reason, "shut")
	b.redis.script = nil
	b.run(3 * second)
	require.False(t, b.engine.state().Away)
	require.True(t, b.gate.Allow("other", "e"))
	require.Equal(t, 10, b.takes(99))
}

func TestAwayReturnsAtOnceToWhatIsKnown(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/s"), nil)
	b.redis.script = func(n int, c Call) fate { return unsentCall }
	b.drain(5 * second)
	s := b.engine.state()
	require.Equal(t, 1, s.Down)
	require.Less(t, s.Syncs, uint64(80), "probes are few")
	b.redis.script = nil
	b.run(2 * second)
	s = b.engine.state()
	require.Zero(t, s.Down)
	require.Zero(t, s.Oldest)
	require.Equal(t, 10, b.takes(10))
}

// Where hardly anything is refilled, what nodes used is what Redis is charged with in
// the end, whatever was lost, executed twice or late, and however often it was away.
func TestAwayConserves(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := clock.NewManual(1_000_000_000)
		redis := newFake(c)
		nodes := make([]*bench, 3)
		for i := range nodes {
			nodes[i] = benchWith(t, c, redis, on(t, 8, "1000/d"), func(c *Config) {
				c.Rand, c.Nodes = rand.NewPCG(seed, uint64(i)), 3
			})
		}
		bad := false
		redis.script = func(int, Call) fate {
			switch {
			case bad:
				return []fate{lostRequest, lostRequest, lostReply, delayed, unsentCall}[r.IntN(5)]
			case r.IntN(10) == 0:
				return []fate{lostReply, twice}[r.IntN(2)]
			}
			return answered
		}
		used := 0
		for i := range 12_000 {
			if i%1500 == 0 {
				bad = !bad && i < 9000
			}
			for _, n := range nodes {
				if r.IntN(100) == 0 {
					used += n.takes(1 + r.IntN(3))
				}
				n.step()
			}
			if !bad {
				redis.deliver()
			}
			c.Advance(time.Millisecond)
		}
		redis.script = nil
		granted := uint64(0)
		for _, n := range nodes {
			n.run(5 * second)
			granted += n.engine.state().Granted
		}
		require.Positive(t, granted, "it was away")
		require.EqualValues(t, 1000-used, nodes[0].level()/Unit, "seed %d", seed)
	}
}
