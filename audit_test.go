package tickgate_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// audited is a gate that keeps what its hook is told.
func audited(t testing.TB, limits ...string) (*tickgate.Gate, *clock.Manual, *clock.ManualWall, *[]tickgate.Change) {
	var told []tickgate.Change
	wall := clock.NewManualWall(time.Hour)
	g, c := gateWith(t, tickgate.Config{Wall: wall, Audit: func(ch tickgate.Change) { told = append(told, ch) }}, setOf(t, limits...))
	return g, c, wall, &told
}

// Who changed what, when, from what and to what.
func TestAuditOfApply(t *testing.T) {
	g, c, wall, told := audited(t, "10/h name=a")
	require.Empty(t, *told, "New is no change")
	before := g.Policies()
	after := setOf(t, "20/h name=a")
	require.NoError(t, g.As("alice").Apply(after))
	c.Advance(time.Second)
	wall.SetOffset(2 * time.Hour)
	require.NoError(t, g.Apply(before))
	require.Len(t, *told, 2)
	first, second := (*told)[0], (*told)[1]
	require.Equal(t, tickgate.Change{What: tickgate.Applied, Who: "alice", When: time.Unix(7200, 0), Old: before, New: after}, first)
	require.Equal(t, tickgate.Change{What: tickgate.Applied, When: time.Unix(3*3600+1, 0), Old: after, New: before}, second)
	require.Equal(t, "apply", first.What.String())
}

// A set that was rejected is told of with its faults; nothing changed.
func TestAuditOfWhatWasRejected(t *testing.T) {
	g, _, _, told := audited(t, "10/h name=a")
	before := g.Policies()
	bad := policy.Set{{Endpoint: "x", Limits: []policy.Limit{{Tokens: -1, Per: time.Second}}}, {Endpoint: ""}}
	err := g.As("bob").Apply(bad)
	require.Error(t, err)
	require.Len(t, *told, 1)
	ch := (*told)[0]
	require.Equal(t, err, ch.Err)
	require.Equal(t, "bob", ch.Who)
	require.Equal(t, tickgate.Applied, ch.What)
	require.True(t, before.Equal(ch.Old))
	require.True(t, before.Equal(ch.New))
	var fault *tickgate.ConfigError
	require.True(t, errors.As(ch.Err, &fault))
	require.Equal(t, int64(10), left(g, "k"))
}

// Every use of the kill switch, also one that changes nothing.
func TestAuditOfBlocks(t *testing.T) {
	g, _, _, told := audited(t, "10/h name=a")
	ops := g.As("ops")
	ops.Block("k")
	ops.Block("")
	ops.Block("k")
	ops.Unblock("k")
	g.Unblock("")
	g.Unblock("never blocked")
	var got []string
	for _, ch := range *told {
		got = append(got, fmt.Sprintf("%s %s %q", ch.Who, ch.What, ch.APIKey))
		require.NoError(t, ch.Err)
		require.True(t, ch.Old.Equal(ch.New))
		require.True(t, g.Policies().Equal(ch.New))
	}
	require.Equal(t, []string{
		`ops block "k"`, `ops block ""`, `ops block "k"`, `ops unblock "k"`, ` unblock ""`, ` unblock "never blocked"`,
	}, got)
}

// What the hook is given is its own.
func TestAuditSharesNothing(t *testing.T) {
	g, _, _, told := audited(t, "10/h name=a")
	set := setOf(t, "20/h name=a")
	require.NoError(t, g.Apply(set))
	g.Block("k")
	set[0].Limits[0].Tokens = 1
	for i := range *told {
		ch := (*told)[i]
		ch.Old[0].Limits[0].Tokens = 2
		require.NotEqual(t, int64(2), ch.New[0].Limits[0].Tokens)
		ch.New[0].Limits[0].Tokens = 3
	}
	require.Equal(t, int64(20), g.Policies()[0].Limits[0].Tokens)
}

// The change is in force when the hook is told, and nobody overtakes another: each
// change begins where the one before ended, one call at a time.
func TestAuditOrderUnderConcurrency(t *testing.T) {
	var told []tickgate.Change
	var g *tickgate.Gate
	inside := 0
	var mu sync.Mutex // for the race detector: the hook is not called twice at once
	g, c := gateWith(t, tickgate.Config{Wall: clock.NewManualWall(0), Audit: func(ch tickgate.Change) {
		inside++
		require.Equal(t, 1, inside)
		require.True(t, g.Policies().Equal(ch.New))
		told = append(told, ch)
		inside--
	}}, setOf(t, "1/h name=a"))
	made := map[string]int{}
	together(4, func(i int) {
		who := fmt.Sprint("operator ", i)
		for j := range 50 {
			switch {
			case j%10 == 9:
				require.Error(t, g.As(who).Apply(policy.Set{{Endpoint: ""}}))
			case j%5 == 4:
				g.As(who).Block(who)
			default:
				l := policy.Limit{Name: "a", Tokens: int64(1 + i*1000 + j), Per: time.Hour}
				require.NoError(t, g.As(who).Apply(policy.Set{{Endpoint: endpoint, Limits: []policy.Limit{l}}}))
			}
			c.Advance(1)
			g.Take("k", endpoint, 1)
		}
		mu.Lock()
		defer mu.Unlock()
		made[who] = 50
	})
	require.Len(t, told, 200)
	last := map[string]int64{}
	for i, ch := range told {
		if i > 0 {
			require.True(t, told[i-1].New.Equal(ch.Old), "change %d", i)
			require.False(t, ch.When.Before(told[i-1].When))
		}
		made[ch.Who]--
		if ch.What == tickgate.Applied && ch.Err == nil {
			n := ch.New[0].Limits[0].Tokens
			require.Greater(t, n, last[ch.Who], "changes of one operator keep their order")
			last[ch.Who] = n
		} else {
			require.True(t, ch.Old.Equal(ch.New))
		}
	}
	for who, n := range made {
		require.Zero(t, n, who)
	}
	require.True(t, g.Policies().Equal(told[len(told)-1].New))
}

// Without a hook nothing is told, and everything works.
func TestAuditWithoutHook(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	op := g.As("nobody")
	op.Block("k")
	require.False(t, g.Allow("k", endpoint))
	op.Unblock("k")
	require.NoError(t, op.Apply(setOf(t, "5/h")))
	require.True(t, g.Allow("k", endpoint))
}
