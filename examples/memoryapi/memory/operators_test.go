package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

// Who serves the API can show what its gate does: what it denies, and to whom, and what
// was changed of it.
func TestOperatorsSeeTheGate(t *testing.T) {
	var denied, changes []string
	a := newAPI(t, withEnv("MEM_RATE_LIMIT_QUERY", "1/hour"), func(c *memory.Config) {
		c.Denied = func(apikey, endpoint string, d *tickgate.Decision) {
			denied = append(denied, apikey+": "+endpoint+": "+d.Reason.String())
		}
		c.Audit = func(c tickgate.Change) { changes = append(changes, c.Who) }
	})
	require.Equal(t, 200, a.as("alice", policy.MemoryQuery, "").status)
	require.Empty(t, denied)
	require.Equal(t, 429, a.as("alice", policy.MemoryQuery, "").status)
	a.service.Gate().As("risk").Block("bob")
	require.Equal(t, []string{"risk"}, changes)
	require.Equal(t, 403, a.as("bob", policy.MemorySkills, "").status)
	require.Equal(t, []string{"alice: GET /memory/query: limited", "bob: GET /memory/skills: blocked"}, denied)
	a.as("alice", policy.MemoryIngest, `{"content":"x"}`).job()
	require.EqualValues(t, 1, a.service.Results().Acquired)
}
