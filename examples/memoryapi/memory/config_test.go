package memory_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

func TestNewReportsEveryFault(t *testing.T) {
	_, err := memory.New(memory.Config{MaxQueue: -1, MaxMemories: 1 << 21, MaxRecords: -1, Lookup: environment(
		"MEM_RATE_LIMIT_INGEST", "x", "MEM_RATE_LIMIT_BURST", "-1", "MEM_IDEMPOTENCY_TTL_SECS", "1.5")})
	require.Error(t, err)
	for _, field := range []string{"MaxQueue", "MaxMemories", "MaxRecords", "MEM_RATE_LIMIT_INGEST", "MEM_RATE_LIMIT_BURST", "MEM_IDEMPOTENCY_TTL_SECS"} {
		require.Contains(t, err.Error(), field)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 6)
}

func TestEveryVariableIsRead(t *testing.T) {
	a := newAPI(t, withEnv(
		"MEM_RATE_LIMIT_INGEST", "1/hour", "MEM_RATE_LIMIT_QUERY", "2/hour",
		"MEM_RATE_LIMIT_PROJECTS", "3/hour", "MEM_RATE_LIMIT_SKILLS", "4/hour", "MEM_RATE_LIMIT_BURST", "20"))
	for i, endpoint := range []string{policy.MemoryIngest, policy.MemoryQuery, policy.MemoryProjects, policy.MemorySkills} {
		for range i + 1 {
			require.Less(t, a.as("alice", endpoint, text(0)).status, 300, endpoint)
		}
		require.Equal(t, 429, a.as("alice", endpoint, text(0)).status, endpoint)
	}
	for range 20 {
		require.Equal(t, 404, a.as("alice", "GET /elsewhere", "").status)
	}
	require.Equal(t, 429, a.as("alice", "GET /elsewhere", "").status)
}

func TestTheLogHasNoKeyAndNothingOfAClient(t *testing.T) {
	var log bytes.Buffer
	a := newAPI(t, func(c *memory.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 11 {
		a.as("s3cret", policy.MemoryIngest, `{"ingest_id":"s3cret","content":"s3cret"}`)
	}
	a.ask("GET /memory/query?q=s3cret&apikey=s3cret", "", "Authorization", "Bearer s3cret")
	a.ask("GET /s3cret%0alevel=ERROR", "", "Authorization", "s3cret")
	a.ask("GET /s3cret", "", "X-API-Key", "s3cret", "User-Agent", "s3cret")
	a.server.Close() // which waits for the last line
	require.NotContains(t, log.String(), "s3cret")
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, 14)
	for i, want := range map[int]string{
		0:  `endpoint="POST /memory/ingest" status=202 replayed=false`,
		1:  `endpoint="POST /memory/ingest" status=202 replayed=true`,
		10: `endpoint="POST /memory/ingest" status=429 replayed=false`,
		11: `endpoint="GET /memory/query" status=200 replayed=false`,
		12: `endpoint=default status=401 replayed=false`,
		13: `endpoint=default status=404 replayed=false`,
	} {
		require.Contains(t, lines[i], want)
	}
}
