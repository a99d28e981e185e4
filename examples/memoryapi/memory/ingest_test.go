package memory_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
	"github.com/tickgate/tickgate/policy"
)

func TestIngestRefusesAnotherBodyUnderAnID(t *testing.T) {
	a := newAPI(t)
	first := a.as("alice", policy.MemoryIngest, `{"ingest_id":"i-1","content":"x"}`).job()
	res := a.as("alice", policy.MemoryIngest, `{"ingest_id":"i-1","content":"y"}`)
	require.Equal(t, 422, res.status)
	require.Equal(t, "idempotency_key_reused", res.member("error"))
	require.Equal(t, []string{first}, a.stored("alice"))
}

func TestIngestRunsOnceAtATimeForAnID(t *testing.T) {
	running, goOn := make(chan struct{}), make(chan struct{})
	a := newAPI(t, func(c *memory.Config) {
		var held atomic.Bool // only the first, so that a second one ends and is seen
		c.Hold = func(context.Context) {
			if held.CompareAndSwap(false, true) {
				close(running)
				<-goOn
			}
		}
	})
	const body = `{"ingest_id":"i-1","content":"x"}`
	first := make(chan answer, 1)
	go func() { first <- a.as("alice", policy.MemoryIngest, body) }()
	<-running
	res := a.as("alice", policy.MemoryIngest, body)
	close(goOn)
	done := (<-first).job()
	require.Equal(t, 409, res.status, res.body)
	require.Equal(t, "5", res.header.Get("Retry-After"))
	require.Equal(t, done, a.as("alice", policy.MemoryIngest, body).job())
	require.Equal(t, []string{done}, a.stored("alice"))
}

func TestIngestRefusesWhatIsNoMemory(t *testing.T) {
	a := newAPI(t)
	for body, status := range map[string]int{
		``:                              400,
		`{`:                             400,
		`[]`:                            400,
		`null`:                          400,
		`{"content":""}`:                400,
		`{"content":" \n"}`:             400,
		`{"content":7}`:                 400,
		`{"content":"x"} {}`:            400,
		`{"content":"x","skills":"s"}`:  400,
		`{"content":"x","ingest_id":7}`: 400,
		`{"content":"x","ingest_id":"a","ingest_id":"b"}`:                  400,
		`{"content":"x","ingest_id":"a\u0000b"}`:                           400,
		`{"content":"x","skills":[` + strings.Repeat(`"s",`, 32) + `"s"]}`: 400,
		`{"content":"` + strings.Repeat("x", 64<<10) + `"}`:                413,
	} {
		res := a.as("alice", policy.MemoryIngest, body)
		require.Equal(t, status, res.status, "%.60s: %s", body, res.body)
		require.Equal(t, "application/problem+json", res.header.Get("Content-Type"), "%.60s", body)
		a.clock.Advance(time.Second)
	}
	require.Empty(t, a.stored("alice"))
}

// A full queue is no result: the retry is tried again.
func TestIngestOfAFullQueueCanBeRetried(t *testing.T) {
	a := newAPI(t, func(c *memory.Config) { c.MaxQueue = 2 })
	a.as("alice", policy.MemoryIngest, text(1)).job()
	a.as("alice", policy.MemoryIngest, text(2)).job()
	res := a.as("alice", policy.MemoryIngest, text(3))
	require.Equal(t, 503, res.status)
	require.Equal(t, "queue_full", res.member("error"))
	require.Equal(t, "1", res.header.Get("Retry-After"))
	a.work()
	third := a.as("alice", policy.MemoryIngest, text(3))
	require.Empty(t, third.header.Get("Idempotent-Replayed"))
	require.Contains(t, a.stored("alice"), third.job())
}

// What is remembered is bounded: more is refused, and nothing forgotten, until it expires.
func TestIngestRemembersNoMoreThanItsBound(t *testing.T) {
	a := newAPI(t, func(c *memory.Config) { c.MaxRecords = 3 })
	first := a.as("alice", policy.MemoryIngest, text(1)).job()
	a.as("alice", policy.MemoryIngest, text(2)).job()
	a.as("alice", policy.MemoryIngest, text(3)).job()
	res := a.as("alice", policy.MemoryIngest, text(4))
	require.Equal(t, 503, res.status)
	require.Equal(t, "idempotency_full", res.member("error"))
	require.Equal(t, first, a.as("alice", policy.MemoryIngest, text(1)).job())
	a.clock.Advance(24 * time.Hour)
	for i := range 3 {
		a.as("alice", policy.MemoryIngest, text(4+i)).job()
	}
}

// A denial comes before the idempotency: it is not kept as the result of the id.
func TestIngestLimitComesFirst(t *testing.T) {
	a := newAPI(t, withEnv("MEM_RATE_LIMIT_INGEST", "2/h"))
	first := a.as("alice", policy.MemoryIngest, text(1))
	require.Equal(t, first.job(), a.as("alice", policy.MemoryIngest, text(1)).job())
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(1)).status, "a retry is limited too")
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(2)).status)
	a.clock.Advance(30 * time.Minute)
	second := a.as("alice", policy.MemoryIngest, text(2))
	require.NotEqual(t, first.job(), second.job())
	require.Empty(t, second.header.Get("Idempotent-Replayed"))
}
