package redisync

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const second = time.Second

func TestCreditChargesOnce(t *testing.T) {
	for name, what := range map[string]fate{
		"answered": answered, "request lost": lostRequest, "reply lost": lostReply, "twice": twice, "late": delayed, "unsentCall": unsentCall,
	} {
		t.Run(name, func(t *testing.T) {
			b := benchOf(t, on(t, 4, "100/h"), nil)
			b.redis.script = forCredit(func(n int) fate {
				if n <= 2 {
					return what
				}
				return answered
			})
			require.Equal(t, 4, b.takes(9))
			b.run(200 * time.Millisecond)
			b.redis.deliver() // whatever is still on its way comes last
			require.Equal(t, 2, b.takes(2))
			b.run(100 * time.Millisecond)
			b.redis.deliver()
			require.EqualValues(t, 94, b.level()/Unit)
			s := b.engine.state()
			require.EqualValues(t, 6, s.Charged)
			require.Zero(t, s.Lost)
			require.Zero(t, s.Parked)
		})
	}
}

func TestCreditIsNotFreedByUnknownCalls(t *testing.T) {
	b := benchOf(t, on(t, 4, "100/h"), nil)
	b.redis.script = forCredit(func(int) fate { return lostReply })
	require.Equal(t, 4, b.takes(9))
	b.run(500 * time.Millisecond)
	require.Zero(t, b.takes(9), "nothing is acknowledged")
	require.Equal(t, tickgate.Unsettled, b.gate.Take("k", "e", 1).Reason)
	b.redis.script = nil
	b.run(2 * second)
	require.Equal(t, 4, b.takes(9))
}

func TestCreditUsesDuringFlight(t *testing.T) {
	b := benchOf(t, on(t, 4, "10/h"), nil)
	b.hold = true
	require.Equal(t, 2, b.takes(2))
	b.run(time.Millisecond)
	require.Len(t, b.back, 2, "a heartbeat and a call")
	require.Equal(t, 2, b.takes(9))
	b.land()
	require.Equal(t, 2, b.takes(9), "two of the credit are acknowledged, two are not")
	b.hold = false
	b.run(30 * time.Millisecond)
	require.EqualValues(t, 4, b.level()/Unit)
}

func TestRefundsDoNotTakeBackWhatWasTold(t *testing.T) {
	b := benchOf(t, on(t, 8, "100/h"), nil)
	b.redis.script = forCredit(func(n int) fate {
		if n == 1 {
			return lostReply
		}
		return answered
	})
	h, err := b.gate.Handle("k", "e")
	require.NoError(t, err)
	d := h.Take(4)
	b.run(5 * time.Millisecond)
	h.Refund(d)
	b.run(200 * time.Millisecond)
	require.EqualValues(t, 96, b.level()/Unit)
	d = h.Take(3)
	h.Refund(d)
	b.run(200 * time.Millisecond)
	require.EqualValues(t, 96, b.level()/Unit, "it was given back before anybody was told")
}

// Nodes use what they can of one key, and a fifth of the calls goes wrong in some way.
func TestNodesConserveAndKeepTheBound(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		c := clock.NewManual(1_000_000_000)
		redis := newFake(c)
		nodes := make([]*bench, 3)
		for i := range nodes {
			nodes[i] = benchWith(t, c, redis, on(t, 8, "1000/s burst=100"), func(c *Config) {
				c.Rand = rand.NewPCG(seed, uint64(i))
			})
		}
		redis.script = func(int, Call) fate { return [20]fate{lostRequest, lostReply, twice, delayed}[r.IntN(20)] }
		used, low, real, at := 0, 0.0, 100.0, c.Now()
		for range 3000 {
			for _, n := range nodes {
				now := c.Now()
				real = min(100, real+float64(now.Sub(at))/1e6)
				at = now
				if r.IntN(3) > 0 {
					k := n.takes(1 + r.IntN(6))
					used += k
					real -= float64(k)
					low = min(low, real)
				}
				n.step()
			}
			if r.IntN(50) == 0 {
				redis.deliver()
			}
			c.Advance(time.Duration(r.IntN(int(time.Millisecond))))
		}
		require.GreaterOrEqual(t, low, -16.0, "seed %d", seed)
		require.Less(t, low, -1.0, "or the bound means nothing")
		redis.script = nil
		charged := uint64(0)
		for _, n := range nodes {
			n.run(3 * second)
			redis.deliver()
			n.run(second)
			s := n.engine.state()
			require.Zero(t, s.Granted)
			charged += s.Charged
		}
		require.EqualValues(t, used, charged, "seed %d", seed)
	}
}

func TestPolicyChangesLive(t *testing.T) {
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	a := benchWith(t, c, redis, on(t, 4, "100/h"), nil)
	b := benchWith(t, c, redis, on(t, 4, "100/h"), nil)
	a.engine.slot, b.engine.slot = "aaaa", "bbbb"
	require.Equal(t, 2, a.takes(2))
	require.Equal(t, 1, b.takes(1))
	a.run(50 * time.Millisecond)
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 97, a.level()/Unit)

	set := on(t, 4, "100/h")
	set[0].Limits[0].Burst = 50
	set[0].Credit = 6
	require.NoError(t, a.gate.Apply(set))
	a.run(200 * time.Millisecond)
	require.Equal(t, 6, a.takes(9), "the new credit")
	a.run(50 * time.Millisecond)
	require.EqualValues(t, 41, a.level()/Unit, "what was used stays used")
	require.Zero(t, a.engine.state().Behind)

	require.Equal(t, 1, b.takes(1))
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 1, b.engine.state().Behind, "it still has the old one")
	require.EqualValues(t, 40, b.level()/Unit, "which does not come back")
	require.NoError(t, b.gate.Apply(set))
	b.run(200 * time.Millisecond)
	require.Equal(t, 1, b.takes(1))
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 1, b.engine.state().Behind)
	require.EqualValues(t, 39, b.level()/Unit)
}

func TestRecordsAreForgottenWhenFull(t *testing.T) {
	b := benchOf(t, on(t, 10, "10/s"), nil)
	require.Equal(t, 5, b.takes(5))
	b.run(30 * time.Millisecond)
	require.Equal(t, 1, b.engine.state().Records)
	b.run(2 * second)
	require.Zero(t, b.engine.state().Records)
	require.Empty(t, b.engine.terms)
	require.Equal(t, 5, b.takes(5))
	b.run(30 * time.Millisecond)
	require.Equal(t, 1, b.engine.state().Records)
	require.EqualValues(t, 10, b.engine.state().Charged)
}

func TestRedisLostItsData(t *testing.T) {
	b := benchOf(t, on(t, 10, "100/h"), nil)
	for range 4 {
		require.Equal(t, 10, b.takes(10))
		b.run(30 * time.Millisecond)
	}
	require.EqualValues(t, 60, b.level()/Unit)
	clear(b.redis.keys)
	require.Equal(t, 5, b.takes(5))
	b.run(30 * time.Millisecond)
	require.EqualValues(t, 55, b.level()/Unit, "made anew from what the node knew")
	s := b.engine.state()
	require.EqualValues(t, 1, s.Lost)
	require.EqualValues(t, 2, s.Created)
}

func TestKeysOfTheDefaultPolicyAreApart(t *testing.T) {
	set := on(t, 4, "10/h")
	set[0].Endpoint = "default"
	b := benchOf(t, set, nil)
	require.True(t, b.gate.Allow("k", "one"))
	require.True(t, b.gate.AllowN("k", "two", 2))
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 9, b.redis.keys[BudgetKey("tickgate", "one", OnlyLimit, "k")].level/Unit)
	require.EqualValues(t, 8, b.redis.keys[BudgetKey("tickgate", "two", OnlyLimit, "k")].level/Unit)
}

func TestEveryLimitIsTold(t *testing.T) {
	b := benchOf(t, on(t, 4, "10/h name=short", "100/d name=long"), nil)
	require.Equal(t, 3, b.takes(3))
	b.run(50 * time.Millisecond)
	require.EqualValues(t, 7, b.redis.keys[BudgetKey("tickgate", "e", "short", "k")].level/Unit)
	require.EqualValues(t, 97, b.redis.keys[BudgetKey("tickgate", "e", "long", "k")].level/Unit)
}

func TestManyKeysAreSentInTurn(t *testing.T) {
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	b := benchWith(t, c, redis, on(t, 4, "10/h"), func(c *Config) { c.MaxSyncs = 1000 })
	for i := range 500 {
		require.True(t, b.gate.Allow(string(binaryKey(i)), "e"))
	}
	b.run(100 * time.Millisecond)
	require.InDelta(t, 130, b.engine.state().Syncs, 40)
	require.Positive(t, b.engine.state().Queued)
	b.run(500 * time.Millisecond)
	s := b.engine.state()
	require.EqualValues(t, 500, s.Charged)
	require.EqualValues(t, 500, s.Syncs)
	require.Equal(t, 500, s.Idle)
	require.Zero(t, s.Queued)
	for _, x := range b.engine.batches {
		require.LessOrEqual(t, cap(x.calls), chunk)
	}
}

func TestFewerNodesAreBelievedSlowly(t *testing.T) {
	b := benchOf(t, on(t, 4, "10/h"), nil)
	b.redis.nodes["other"], b.redis.nodes["third"] = true, true
	b.run(1200 * time.Millisecond)
	require.Equal(t, 3, b.engine.state().Nodes)
	delete(b.redis.nodes, "other")
	b.run(1200 * time.Millisecond)
	require.Equal(t, 3, b.engine.state().Nodes)
	b.run(3 * second)
	require.Equal(t, 2, b.engine.state().Nodes)
	require.EqualValues(t, 4, b.engine.state().Overshoot)
}

// A transport that does not come back in time costs a batch, and its answer is not
// looked at when it comes.
func TestOverdueBatchesAreGivenUp(t *testing.T) {
	b := benchOf(t, on(t, 4, "100/h"), nil)
	b.hold = true
	require.Equal(t, 4, b.takes(9))
	b.run(400 * time.Millisecond)
	require.Positive(t, b.engine.state().Unknown)
	require.Zero(t, b.takes(1))
	require.Greater(t, len(b.back), 2, "it was sent again")
	b.hold = false
	b.run(2 * second)
	require.Equal(t, 4, b.takes(9))
	b.run(100 * time.Millisecond)
	require.EqualValues(t, 92, b.level()/Unit)
	for _, x := range b.engine.batches {
		require.False(t, x.busy)
	}
	require.Zero(t, b.engine.lanes[0].out)
}

func TestRenamedAndRemovedLimits(t *testing.T) {
	b := benchOf(t, on(t, 4, "10/h name=a"), nil)
	key := func(limit string) string { return BudgetKey("tickgate", "e", limit, "k") }
	require.Equal(t, 2, b.takes(2))
	b.run(50 * time.Millisecond)
	require.NoError(t, b.gate.Apply(on(t, 4, "10/h name=b")))
	b.run(200 * time.Millisecond)
	require.Equal(t, 1, b.takes(1))
	b.run(200 * time.Millisecond)
	require.Equal(t, 1, b.takes(1))
	b.run(200 * time.Millisecond)
	require.EqualValues(t, 8, b.redis.keys[key("a")].level/Unit)
	require.EqualValues(t, 8, b.redis.keys[key("b")].level/Unit)
	require.Len(t, b.engine.terms, 1)

	b.redis.script = forCredit(func(int) fate { return lostReply })
	require.Equal(t, 1, b.takes(1))
	b.run(50 * time.Millisecond)
	require.True(t, b.gate.Allow("seen too late", "e"))
	require.NoError(t, b.gate.Apply(policy.Set{}))
	b.run(20 * time.Millisecond)
	require.Len(t, b.engine.vague, 1)
	b.run(2 * second)
	require.Empty(t, b.engine.vague)
	s := b.engine.state()
	require.Zero(t, s.Records, "there is nobody to tell any more")
	require.Zero(t, s.Parked+s.Queued+s.InFlight)
	require.Empty(t, b.engine.terms)
}

func TestMemoryComesBackAfterAPeak(t *testing.T) {
	c := clock.NewManual(1_000_000_000)
	gate := func(cfg *Config) { cfg.MaxSyncs = 1_000_000 }
	b := benchWith(t, c, newFake(c), on(t, 4, "10/s"), gate)
	for i := range 6000 {
		require.True(t, b.gate.Allow(string(binaryKey(i)), "e"))
	}
	b.run(500 * time.Millisecond)
	require.Greater(t, b.engine.peak, 5000)
	b.run(3 * second)
	require.Zero(t, b.engine.state().Records)
	require.Less(t, b.engine.peak, spare)
	require.EqualValues(t, 6000, b.engine.state().Charged)
}
