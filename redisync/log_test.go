package redisync

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/redisync/internal/redistest"
)

// logged has a configuration's log written into a buffer.
func logged(into *bytes.Buffer) func(*Config) {
	return func(c *Config) { c.Log = slog.New(slog.NewTextHandler(into, nil)) }
}

func TestDisagreementIsLoggedOnceAMinute(t *testing.T) {
	var log bytes.Buffer
	c := clock.NewManual(1_000_000_000)
	redis := newFake(c)
	old := benchWith(t, c, redis, on(t, 4, "1000/s"), logged(&log))
	newer := benchWith(t, c, redis, on(t, 4, "2000/s"), func(c *Config) { c.Since = time.UnixMilli(2) })
	other := "other" // a key that has the old node's policy
	for i := range 400 {
		newer.gate.Allow("k", "e")
		newer.run(5 * time.Millisecond)
		old.gate.Allow("k", "e")
		old.gate.Allow(fmt.Sprint(other, i), "e")
		old.run(5 * time.Millisecond)
	}
	require.Greater(t, old.engine.state().Behind, uint64(100))
	require.Equal(t, 1, strings.Count(log.String(), "newer policy"), "by turns")
}

func TestTheNodeThatPutsAPolicyInForceSaysSo(t *testing.T) {
	var log bytes.Buffer
	b := benchOf(t, on(t, 4, "1000/s"), logged(&log))
	for i := range 50 {
		b.gate.Allow(fmt.Sprint(i), "e")
		b.run(10 * time.Millisecond)
	}
	require.Equal(t, 1, strings.Count(log.String(), "put a policy in force"))
	require.NoError(t, b.gate.Apply(on(t, 4, "2000/s")))
	for i := range 50 {
		b.gate.Allow(fmt.Sprint(i), "e")
		b.run(10 * time.Millisecond)
	}
	require.Equal(t, 2, strings.Count(log.String(), "put a policy in force"))
	require.Contains(t, log.String(), "limit=2000/s")
}

func TestRefusalsAreLoggedAndCloseDoesNotWaitForThem(t *testing.T) {
	srv := redistest.Start(t, redistest.Options{})
	var log bytes.Buffer
	n := nodeOf(t, srv.URL(), on(t, 4, "100/h"), logged(&log))
	for i := range 20 {
		srv.Must("SET", BudgetKey("tickgate", "e", OnlyLimit, fmt.Sprint(i)), "of another type")
		require.True(t, n.gate.Allow(fmt.Sprint(i), "e"))
	}
	require.True(t, n.gate.Allow("good", "e"))
	require.Eventually(t, func() bool { return n.Stats().Refused > 40 }, tenSeconds, tick)
	begun := time.Now()
	err := n.Close(t.Context())
	require.Less(t, time.Since(begun), 2*time.Second)
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "20 keys")
	require.Equal(t, 1, strings.Count(log.String(), "Redis refuses"))
	require.Contains(t, log.String(), "WRONGTYPE")
	require.Contains(t, log.String(), "endpoint=e")
	require.EqualValues(t, 99, level(t, srv, BudgetKey("tickgate", "e", OnlyLimit, "good")))
	require.Zero(t, srv.Must("ZCARD", NodesKey("tickgate")), "it has left all the same")
}

// A policy that changes while Close flushes makes no more work.
func TestAChangeWhileClosingAsksForNothing(t *testing.T) {
	b := benchOf(t, on(t, 4, "1000/h"), nil)
	require.Equal(t, 3, b.takes(3))
	b.run(50 * time.Millisecond)
	b.engine.flush(b.clock.Now())
	b.run(10 * time.Millisecond)
	require.True(t, b.engine.flushed())
	calls := b.redis.calls
	require.NoError(t, b.gate.Apply(on(t, 4, "2000/h")))
	b.run(300 * time.Millisecond)
	require.Equal(t, calls, b.redis.calls)
	require.True(t, b.engine.flushed())
}
