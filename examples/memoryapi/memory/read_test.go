package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

func TestReadReturnsTheCallersOwn(t *testing.T) {
	a := newAPI(t)
	one := a.as("alice", policy.MemoryIngest, `{"content":"tea at four","project":"home","skills":["tea","time"]}`).job()
	two := a.as("alice", policy.MemoryIngest, `{"content":"tea at five","project":"work","skills":["tea"]}`).job()
	three := a.as("alice", policy.MemoryIngest, `{"content":"coffee"}`).job()
	a.as("bob", policy.MemoryIngest, `{"content":"tea","project":"his","skills":["his"]}`).job()
	require.Equal(t, []string{three, two, one}, a.stored("alice"))

	for query, want := range map[string]string{
		"?q=tea":               two + one,
		"?q=tea&project=home":  one,
		"?project=work":        two,
		"?q=beer":              "",
		"?q=coffee&project=no": "",
	} {
		got := ""
		for _, m := range a.as("alice", policy.MemoryQuery+query, "").member("memories").([]any) {
			got += m.(map[string]any)["job_id"].(string)
		}
		require.Equal(t, want, got, query)
	}
	require.Equal(t, []any{"tea", "time"}, a.as("alice", policy.MemorySkills, "").member("skills"))
	require.Equal(t, []any{"home", "work"}, a.as("alice", policy.MemoryProjects, "").member("projects"))
	require.Equal(t, []any{}, a.as("carol", policy.MemoryProjects, "").member("projects"))
	require.Equal(t, 404, a.as("alice", "GET /memory/other", "").status)
	require.Equal(t, 405, a.as("alice", "DELETE /memory/query", "").status)
}

func TestReadKeepsTheNewest(t *testing.T) {
	a := newAPI(t, func(c *memory.Config) { c.MaxMemories = 3 })
	var jobs []string
	for i := range 5 {
		jobs = append(jobs, a.as("alice", policy.MemoryIngest, text(i)).job())
	}
	require.Equal(t, []string{jobs[4], jobs[3], jobs[2]}, a.stored("alice"))
}

func TestReadReturnsAHundredAtMost(t *testing.T) {
	a := newAPI(t, withEnv("MEM_RATE_LIMIT_INGEST", "unlimited"))
	for i := range 101 {
		a.as("alice", policy.MemoryIngest, fmt.Sprintf(`{"content":"memory %d"}`, i)).job()
		a.clock.Advance(time.Second)
	}
	require.Len(t, a.stored("alice"), 100)
}
