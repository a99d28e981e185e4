package venue

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func TestPresetsAreValidAndComplete(t *testing.T) {
	names := map[string]bool{}
	plain := regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)
	for _, p := range All() {
		t.Run(p.Name, func(t *testing.T) {
			require.NoError(t, p.Policies.Validate())
			require.NotEmpty(t, p.Policies)
			require.False(t, names[p.Name], "name used twice")
			names[p.Name] = true
			require.Regexp(t, plain, p.Name)
			for _, text := range []string{p.Venue, p.Source, p.Read, p.Breach} {
				require.NotEmpty(t, text)
				require.NotContains(t, text, "\n")
			}
			require.Regexp(t, `^[A-Z][a-z]+ 20\d\d$`, p.Read)

			// No policy for what is not listed: it is denied, not let through.
			_, open := p.Policies.Lookup(policy.DefaultEndpoint)
			require.False(t, open)
			require.Len(t, p.Keys, len(p.Policies))
			labels := map[string]bool{}
			for _, counted := range p.Policies {
				require.Regexp(t, plain, counted.Endpoint)
				require.NotEmpty(t, p.Keys[counted.Endpoint], counted.Endpoint)
				for _, l := range counted.Limits {
					require.Regexp(t, plain, l.Name)
					require.False(t, labels[l.Name], l.Name)
					labels[l.Name] = true
				}
			}
			for _, h := range p.headers {
				require.True(t, labels[h.limit], h.limit)
			}
			checkMessages(t, p)
		})
	}
}

// checkMessages: every class is from the vocabulary, every draw is on a count of
// the preset, once, and can pass; every count is drawn on.
func checkMessages(t *testing.T, p Preset) {
	t.Helper()
	classes, drawn := map[string]bool{}, map[string]bool{}
	for _, m := range p.Messages {
		require.Regexp(t, `^(order\.(new|batch|replace|cancel)|query(\.[a-z]+)?)$`, m.Class)
		require.False(t, classes[m.Class], m.Class)
		classes[m.Class] = true
		require.NotEmpty(t, m.Draws, m.Class)
		cost := map[string]int64{}
		for _, d := range m.Draws {
			counted, ok := p.Policies.Lookup(d.Endpoint)
			require.True(t, ok, d.Endpoint)
			require.NotContains(t, cost, d.Endpoint, m.Class)
			cost[d.Endpoint], drawn[d.Endpoint] = d.Cost, true
			require.GreaterOrEqual(t, d.Cost, ByCaller)
			for _, l := range counted.Limits {
				require.LessOrEqual(t, d.Cost, l.Capacity(), "%s can never pass %s", m.Class, l.Name)
			}
		}
		for _, back := range [][]Draw{m.Accepted, m.Filled} {
			for _, d := range back {
				require.LessOrEqual(t, d.Cost, cost[d.Endpoint], "%s gives back more than it took", m.Class)
			}
		}
	}
	for _, counted := range p.Policies {
		require.True(t, drawn[counted.Endpoint], "nothing draws on %s", counted.Endpoint)
	}
}

func TestPresetsShareNothing(t *testing.T) {
	for i, p := range All() {
		p.Policies[0].Limits[0].Tokens = -1
		p.Messages[0].Draws[0].Cost = -1
		p.Keys["x"] = "y"
		again := All()[i]
		require.NoError(t, again.Policies.Validate())
		require.NotEqual(t, int64(-1), again.Messages[0].Draws[0].Cost)
		require.NotContains(t, again.Keys, "x")
	}
}

func TestLookup(t *testing.T) {
	for _, p := range All() {
		got, err := Lookup(p.Name)
		require.NoError(t, err)
		require.Equal(t, p, got)
	}
	for _, name := range []string{"", "binance", "Binance-Spot", "\x00", strings.Repeat("x", 1000)} {
		p, err := Lookup(name)
		require.Zero(t, p)
		var fault *policy.ConfigError
		require.ErrorAs(t, err, &fault)
		require.Contains(t, err.Error(), "binance-fix, binance-spot")
		require.Contains(t, err.Error(), "revolut-fix")
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestDrawTokens(t *testing.T) {
	require.EqualValues(t, 7, Draw{Cost: ByCaller}.Tokens(7))
	require.EqualValues(t, 500, Draw{Cost: 500}.Tokens(7))
}
