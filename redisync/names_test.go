package redisync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
)

func TestSeveralLimitsNeedNames(t *testing.T) {
	for _, m := range []Mode{Credit, Lease} {
		cfg := Config{Gate: gateOf(t, on(t, 4, "10/h", "100/d name=long")), URL: "redis://h", MaxAge: time.Second, Policies: map[string]Mode{"e": m}}
		err := cfg.check()
		require.ErrorContains(t, err, `Policies["e"].10/h`)
		require.ErrorContains(t, err, "name")
		require.NotContains(t, err.Error(), "long")
	}
	for _, limits := range [][]string{{"10/h"}, {"10/h", "5/1s rolling"}, {"10/h name=a", "100/d name=b"}} {
		cfg := Config{Gate: gateOf(t, on(t, 4, limits...)), URL: "redis://h", MaxAge: time.Second}
		require.NoError(t, cfg.check(), limits)
	}
}

// Nodes that have another rate for a limit without a name share it all the same, on
// credit and by strict calls, and a change keeps what was used.
func TestTheOnlyLimitIsSharedWhateverItsRate(t *testing.T) {
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	a := benchWith(t, c, redis, on(t, 4, "10/d"), nil)
	b := benchWith(t, c, redis, on(t, 4, "20/d"), func(c *Config) { c.Since = time.UnixMilli(2) })
	require.Equal(t, 4, a.takes(4))
	a.run(50 * time.Millisecond)
	require.Equal(t, 4, b.takes(4))
	b.run(50 * time.Millisecond)
	require.Len(t, redis.keys, 1)
	require.EqualValues(t, 20-8, b.level()/Unit)
	require.NoError(t, a.gate.Apply(on(t, 4, "30/d")))
	a.run(200 * time.Millisecond)
	require.Equal(t, 1, a.takes(1))
	a.run(200 * time.Millisecond)
	require.Equal(t, 1, a.takes(1))
	a.run(200 * time.Millisecond)
	require.Len(t, redis.keys, 1)
	require.EqualValues(t, 30-10, a.level()/Unit)
	require.Len(t, a.engine.terms, 1)
	require.Len(t, a.engine.records, 1)

	require.NoError(t, a.gate.Apply(on(t, 4, "30/d", "7/h")))
	a.run(200 * time.Millisecond)
	require.Equal(t, 1, a.takes(1))
	a.run(200 * time.Millisecond)
	require.Contains(t, redis.keys, BudgetKey("tickgate", "e", "7/h", "k"), "by what it says")
}
