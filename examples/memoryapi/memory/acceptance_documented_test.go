package memory_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// Each endpoint that is served has a policy of its own, tells it in its answers, and is
// in the table of the README with the variable that changes it.
func TestA10_EveryEndpointHasADocumentedLimit(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	documented := map[string][]string{} // endpoint: limit, burst, variable
	for line := range strings.Lines(string(readme)) {
		cells := strings.Split(strings.Trim(line, "|\n "), "|")
		if len(cells) == 4 && strings.Contains(cells[0], "/memory/") {
			for i := range cells {
				cells[i] = strings.Trim(cells[i], " `")
			}
			documented[cells[0]] = cells[1:]
		}
	}
	a := newAPI(t)
	served := a.service.Endpoints()
	require.ElementsMatch(t, endpoints, served)
	require.Len(t, documented, len(served), "the README's table has what is served, and nothing else")
	for _, endpoint := range served {
		p, found := a.service.Policies().Lookup(endpoint)
		require.True(t, found, "%s has no limit of its own", endpoint)
		require.Contains(t, documented, endpoint)
		limit, burst, variable := documented[endpoint][0], documented[endpoint][1], documented[endpoint][2]
		require.Equal(t, documentedLimits(t, limit, burst), p.Limits, endpoint)

		var told []string
		for _, l := range p.Limits {
			told = append(told, fmt.Sprintf("%q;q=%d;w=%d", l.Name, l.Tokens, int64(l.Per.Seconds())))
		}
		require.NotEqual(t, policy.Unlimited, p.Limits[0].Window)
		res := a.as("alice", endpoint, text(0))
		require.Equal(t, strings.Join(told, ", "), res.header.Get("RateLimit-Policy"))

		// The variable that is documented is the one that is read.
		changed := newAPI(t, withEnv(variable, "7/m"))
		p, _ = changed.service.Policies().Lookup(endpoint)
		require.Equal(t, int64(7), p.Limits[0].Tokens, variable)
	}
}

// documentedLimits reads the two cells of the README's table.
func documentedLimits(t *testing.T, limit, burst string) (limits []policy.Limit) {
	l, err := policy.ParseLimit(limit)
	require.NoError(t, err)
	if l.Window != policy.Unlimited {
		l.Name = "hour"
		limits = append(limits, l)
	}
	b, err := policy.ParseLimit(burst + " rolling name=burst")
	require.NoError(t, err)
	return append(limits, b)
}
