//go:build linux

package faults

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/redisync/admitted"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

var thousands = admitted.Limit{Tokens: 10_000, Per: time.Second, Capacity: 1000}

// run lets players play for a while, and returns what they did and how long it took:
// a busy machine wakes late.
func run(t *testing.T, d time.Duration, players ...Player) (all []admitted.Event, took time.Duration) {
	begun := time.Now()
	for _, p := range players {
		require.NoError(t, p.Begin())
	}
	time.Sleep(d)
	for _, p := range players {
		require.NoError(t, p.End())
	}
	took = time.Since(begun)
	for _, p := range players {
		_, err := p.Close(context.Background())
		require.NoError(t, err)
		log, err := p.Log()
		require.NoError(t, err)
		require.Zero(t, log.Overflow())
		all = append(all, log.Events()...)
	}
	return all, took
}

// Gates that share nothing admit the limit each: the harness must say so.
func TestNodesApartAdmitTheLimitEach(t *testing.T) {
	var players []Player
	for i := range 3 {
		n, err := Start(t.Context(), Setup{Index: i, Nodes: 3, Mode: Apart, Limit: thousands, Credit: 16, Events: 1 << 16})
		require.NoError(t, err)
		players = append(players, n)
	}
	events, d := run(t, 300*time.Millisecond, players...)
	o := admitted.Check(events, thousands)
	budget := thousands.Budget(d)
	require.InEpsilon(t, 3*budget, o.Admitted, 0.15)
	require.InEpsilon(t, 2*budget, o.Low, 0.15)
	require.InEpsilon(t, o.Low, o.High, 0.02, "calls are short: both are near each other")
}

// Nodes at one gate never exceed it.
func TestNodesAtOneGateAdmitTheLimitOnce(t *testing.T) {
	s := Setup{Nodes: 3, Mode: Apart, Limit: thousands, Credit: 16, Events: 1 << 16}
	gate, err := tickgate.New(tickgate.Config{Policies: s.policies(), Clock: clock.Runtime()})
	require.NoError(t, err)
	var players []Player
	for i := range 3 {
		s.Index = i
		n, err := startAt(t.Context(), s, gate)
		require.NoError(t, err)
		players = append(players, n)
	}
	events, d := run(t, 300*time.Millisecond, players...)
	o := admitted.Check(events, thousands)
	require.Zero(t, o.Low, "%+v", o)
	require.Less(t, o.High, 30.0, "what a slow call may make of it")
	require.InEpsilon(t, thousands.Budget(d), o.Admitted, 0.1)
}

func TestNodeInItsOwnProcess(t *testing.T) {
	start := func(i int) *Process {
		p, err := Spawn(Setup{Index: i, Nodes: 2, Mode: Apart, Limit: thousands, Credit: 16, Events: 1 << 16,
			Path: filepath.Join(t.TempDir(), "log")})
		require.NoError(t, err)
		t.Cleanup(p.Kill)
		return p
	}
	survivor, victim, frozen := start(0), start(1), start(2)
	begun := newStopwatch().now()
	for _, p := range []*Process{survivor, victim, frozen} {
		require.NoError(t, p.Begin())
	}
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, frozen.Freeze())
	stopped := newStopwatch().now()
	time.Sleep(50 * time.Millisecond)
	victim.Kill()
	killed := newStopwatch().now()
	time.Sleep(50 * time.Millisecond)
	thawed := newStopwatch().now()
	require.NoError(t, frozen.Thaw())
	time.Sleep(20 * time.Millisecond)

	for _, p := range []*Process{survivor, victim, frozen} {
		require.NoError(t, p.End())
		_, err := p.Close(t.Context())
		require.NoError(t, err)
		log, err := p.Log()
		require.NoError(t, err)
		require.Greater(t, len(log.Events()), 1000)
		for _, e := range log.Events() {
			require.Greater(t, e.Before, begun)
			if p == victim {
				require.Less(t, e.After, killed)
			}
			if p == frozen {
				require.False(t, e.Before > stopped+int64(5*time.Millisecond) && e.After < thawed, "a frozen node decides nothing")
			}
		}
	}
}

func TestSpawnErrors(t *testing.T) {
	_, err := Spawn(Setup{Mode: Apart, Limit: thousands, Credit: 1, Events: 1})
	require.ErrorContains(t, err, "Setup.Path")
	_, err = Spawn(Setup{Mode: Apart, Limit: admitted.Limit{Tokens: -1, Per: time.Second}, Events: 1, Path: filepath.Join(t.TempDir(), "log")})
	require.ErrorContains(t, err, "-1")
}
