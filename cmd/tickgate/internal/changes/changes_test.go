package changes

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// rig is a gate whose changes are recorded, and what was logged.
func rig(t *testing.T, set policy.Set) (*tickgate.Gate, *Log, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	l := New(slog.New(slog.NewTextHandler(out, nil)), func(apikey string) string { return "<" + apikey + ">" })
	g, err := tickgate.New(tickgate.Config{
		Policies: set, Clock: clock.NewManual(0), Wall: clock.NewManualWall(time.Hour), Audit: l.Of(""),
	})
	require.NoError(t, err)
	return g, l, out
}

func of(endpoint string, tokens int64) policy.Policy {
	return policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{{Tokens: tokens, Per: time.Second}}}
}

func TestApply(t *testing.T) {
	g, l, out := rig(t, policy.Set{of("a", 1), of("b", 2), of("c", 3)})
	require.Empty(t, l.Recent(9))
	next := policy.Set{of("c", 3), of("b", 20), of("d", 4)}
	next[1].Shadow, next[1].Credit = true, 5
	next[1].Limits = append(next[1].Limits, policy.Limit{Tokens: 100, Per: time.Hour, Name: "hour"})
	require.NoError(t, g.As("alice").Apply(next))
	require.Equal(t, []Change{{
		At: time.Unix(3600, 0), What: "apply", Who: "alice",
		Lines: []string{"b: 2/s → 20/s, 100/h name=hour credit=5 shadow", "d: new, 4/s", "a: 1/s → removed"},
	}}, l.Recent(9))
	require.Contains(t, out.String(), `level=INFO msg=change what=apply who=alice`)
	require.Contains(t, out.String(), `a: 1/s → removed`)
}

// Of several gates each change says whose it is.
func TestOf(t *testing.T) {
	g, l, out := rig(t, policy.Set{of("a", 1)})
	g.As("risk").Block("")
	l.Of("envoy")(tickgate.Change{What: tickgate.BlockSet, Who: "risk"})
	told := l.Recent(2)
	require.Equal(t, []string{"envoy", ""}, []string{told[0].Gate, told[1].Gate})
	require.True(t, told[0].Everyone)
	require.Contains(t, out.String(), "gate=envoy")
}

func TestRefused(t *testing.T) {
	g, l, out := rig(t, policy.Set{of("a", 1)})
	require.Error(t, g.As("bob").Apply(policy.Set{of("a", -1)}))
	c := l.Recent(1)[0]
	require.Contains(t, c.Fault, "policies[0]")
	require.Empty(t, c.Lines)
	require.Contains(t, out.String(), "level=WARN msg=change what=apply who=bob")
}

func TestBlocks(t *testing.T) {
	g, l, out := rig(t, policy.Set{of("a", 1)})
	g.As("risk").Block("k")
	g.As("risk").Unblock("")
	require.Equal(t, []Change{
		{At: time.Unix(3600, 0), What: "unblock", Who: "risk", Everyone: true},
		{At: time.Unix(3600, 0), What: "block", Who: "risk", Key: "<k>"},
	}, l.Recent(2))
	require.Contains(t, out.String(), "key=<k>")
	require.Contains(t, out.String(), "everyone=true")
}

// A change of everything is remembered in part, and logged whole; old ones give way.
func TestBounds(t *testing.T) {
	g, l, out := rig(t, policy.Set{of("a", 1)})
	var many policy.Set
	for i := range 100 {
		many = append(many, of(fmt.Sprint("e", i), 1))
	}
	require.NoError(t, g.Apply(many))
	c := l.Recent(1)[0]
	require.Len(t, c.Lines, 40)
	require.Equal(t, 61, c.More)
	require.Contains(t, out.String(), "e99: new")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				g.Block("k")
				l.Recent(3)
			}
		})
	}
	all.Wait()
	require.Len(t, l.Recent(1000), 64)
	require.Equal(t, "block", l.Recent(64)[63].What)
}
