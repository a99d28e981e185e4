package memory_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func TestA7_SameIngestIDSameJob(t *testing.T) {
	a := newAPI(t)
	const body = `{"ingest_id":"i-1","content":"x"}`
	first := a.as("alice", policy.MemoryIngest, body)
	again := a.as("alice", policy.MemoryIngest, body)
	require.Equal(t, first.job(), again.job())
	require.Equal(t, first.body, again.body)
	require.Empty(t, first.header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, 422, a.as("alice", policy.MemoryIngest, `{"ingest_id":"i-1","content":"y"}`).status,
		"the id counts, not the content")
	require.Equal(t, []string{first.job()}, a.stored("alice"), "nothing is enqueued again")

	// An id is its caller's own.
	bob := a.as("bob", policy.MemoryIngest, body)
	require.NotEqual(t, first.job(), bob.job())
	require.Equal(t, []string{bob.job()}, a.stored("bob"))
}

func TestA7_SameContentSameJobWithoutAnID(t *testing.T) {
	a := newAPI(t)
	first := a.as("alice", policy.MemoryIngest, text(1)).job()
	require.Equal(t, first, a.as("alice", policy.MemoryIngest, text(1)).job())
	second := a.as("alice", policy.MemoryIngest, text(2)).job()
	require.NotEqual(t, first, second)
	require.Equal(t, []string{second, first}, a.stored("alice"))
}

func TestA8_DifferentIDsDifferentJobs(t *testing.T) {
	a := newAPI(t)
	first := a.as("alice", policy.MemoryIngest, `{"ingest_id":"i-1","content":"x"}`).job()
	second := a.as("alice", policy.MemoryIngest, `{"ingest_id":"i-2","content":"x"}`).job()
	require.NotEqual(t, first, second, "the id counts, not the content")
	require.Equal(t, []string{second, first}, a.stored("alice"))
}

func TestA9_TheIDExpires(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		ttl  time.Duration
	}{
		{"default", nil, 24 * time.Hour},
		{"variable", []string{"MEM_IDEMPOTENCY_TTL_SECS", "60"}, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t, withEnv(c.env...))
			for _, body := range []string{`{"ingest_id":"i-1","content":"x"}`, text(1)} {
				first := a.as("alice", policy.MemoryIngest, body).job()
				a.clock.Advance(c.ttl - 1)
				require.Equal(t, first, a.as("alice", policy.MemoryIngest, body).job(), "a replay does not make it longer either")
				a.clock.Advance(1)
				second := a.as("alice", policy.MemoryIngest, body)
				require.NotEqual(t, first, second.job())
				require.Empty(t, second.header.Get("Idempotent-Replayed"))
			}
			require.Len(t, a.stored("alice"), 4)
		})
	}
}
