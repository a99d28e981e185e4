package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

var endpoints = []string{policy.MemoryIngest, policy.MemoryQuery, policy.MemoryProjects, policy.MemorySkills}

// text is a body that no other number gives.
func text(i int) string { return fmt.Sprintf(`{"content":"memory %d"}`, i) }

func TestA1_WithinTheLimitSucceeds(t *testing.T) {
	a := newAPI(t)
	for _, endpoint := range endpoints {
		for i := range 10 {
			res := a.as("alice", endpoint, text(i))
			want := 200
			if endpoint == policy.MemoryIngest {
				want = 202
			}
			require.Equal(t, want, res.status, "%s, request %d: %s", endpoint, i+1, res.body)
			require.Empty(t, res.header.Get("Retry-After"))
		}
	}
	require.Len(t, a.stored("bob"), 0)
	a.clock.Advance(time.Second)
	require.Len(t, a.stored("alice"), 10)
}

func TestA2_EleventhInOneSecondIsDenied(t *testing.T) {
	for _, endpoint := range append(endpoints, "GET /elsewhere") {
		t.Run(endpoint, func(t *testing.T) {
			a := newAPI(t)
			for i := range 10 {
				require.NotEqual(t, 429, a.as("alice", endpoint, text(i)).status, "request %d", i+1)
				a.clock.Advance(50 * time.Millisecond)
			}
			res := a.as("alice", endpoint, text(10))
			require.Equal(t, 429, res.status, res.body)
			require.Equal(t, "1s", res.member("limit_window"))

			// Any second, not one of the clock: each room is back a second after it was taken.
			a.clock.Advance(500*time.Millisecond - 1)
			require.Equal(t, 429, a.as("alice", endpoint, text(11)).status)
			a.clock.Advance(1)
			require.NotEqual(t, 429, a.as("alice", endpoint, text(12)).status)
			require.Equal(t, 429, a.as("alice", endpoint, text(13)).status)
		})
	}
}

func TestA3_HundredPassTheNextFailsAndPassesAfterAnHour(t *testing.T) {
	a := newAPI(t)
	a.drain("alice", policy.MemoryIngest, 100, text)
	a.clock.Advance(2 * time.Second) // no burst any more
	res := a.as("alice", policy.MemoryIngest, text(100))
	require.Equal(t, 429, res.status)
	require.Equal(t, "100 requests/hour for POST /memory/ingest", res.member("reason"))

	a.clock.Set(clock.Time(time.Hour + 2*time.Second))
	require.Equal(t, 202, a.as("alice", policy.MemoryIngest, text(101)).status)
}

func TestA3_OneTokenIsBackAfter36Seconds(t *testing.T) {
	a := newAPI(t)
	a.drain("alice", policy.MemoryIngest, 100, text) // the first was taken at 0
	a.clock.Set(clock.Time(36*time.Second - 1))
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(100)).status)
	a.clock.Advance(1)
	require.Equal(t, 202, a.as("alice", policy.MemoryIngest, text(101)).status)
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(102)).status)
}

func TestA4_CallersAreIndependent(t *testing.T) {
	a := newAPI(t)
	a.drain("alice", policy.MemoryIngest, 100, text)
	a.clock.Advance(2 * time.Second)
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(100)).status)
	require.Equal(t, 429, a.ask(policy.MemoryIngest, text(100), "Authorization", "Bearer alice").status,
		"the same key in the other header is the same caller")
	a.drain("bob", policy.MemoryIngest, 100, text)
	a.clock.Advance(2 * time.Second)
	require.Equal(t, 429, a.as("bob", policy.MemoryIngest, text(100)).status)
}

func TestA5_EndpointsAreIndependent(t *testing.T) {
	a := newAPI(t)
	a.drain("alice", policy.MemoryIngest, 100, text)
	a.drain("alice", policy.MemoryProjects, 100, text)
	a.clock.Advance(2 * time.Second)
	require.Equal(t, 429, a.as("alice", policy.MemoryIngest, text(100)).status)
	require.Equal(t, 429, a.as("alice", policy.MemoryProjects, "").status)
	for range 10 {
		require.Equal(t, 200, a.as("alice", policy.MemoryQuery, "").status)
		require.Equal(t, 200, a.as("alice", policy.MemorySkills, "").status)
	}
	require.Equal(t, 429, a.as("alice", policy.MemoryQuery, "").status)
}

func TestA6_RetryAfterIsRight(t *testing.T) {
	denied := func(t *testing.T, a *api, endpoint, seconds, window, reason string) {
		t.Helper()
		res := a.as("alice", endpoint, text(1000))
		require.Equal(t, 429, res.status, res.body)
		require.Equal(t, seconds, res.header.Get("Retry-After"))
		require.Equal(t, seconds, fmt.Sprint(res.member("retry_after_seconds")))
		require.Equal(t, "rate_limit_exceeded", res.member("error"))
		require.Equal(t, reason, res.member("reason"))
		require.Equal(t, window, res.member("limit_window"))
	}
	const hourly = "100 requests/hour for POST /memory/ingest"

	t.Run("hour", func(t *testing.T) {
		a := newAPI(t)
		a.drain("alice", policy.MemoryIngest, 100, text) // at 0 to 9 s; a token is back at 36 s
		denied(t, a, policy.MemoryIngest, "27", "3600s", hourly)
		a.clock.Advance(500 * time.Millisecond)
		denied(t, a, policy.MemoryIngest, "27", "3600s", hourly) // 26.5, rounded up
		a.clock.Advance(26*time.Second + 500*time.Millisecond - 1)
		denied(t, a, policy.MemoryIngest, "1", "3600s", hourly)
		a.clock.Advance(1)
		require.Equal(t, 202, a.as("alice", policy.MemoryIngest, text(100)).status)
		denied(t, a, policy.MemoryIngest, "36", "3600s", hourly)
	})
	t.Run("47", func(t *testing.T) {
		a := newAPI(t, withEnv("MEM_RATE_LIMIT_INGEST", "1/47s"))
		require.Equal(t, 202, a.as("alice", policy.MemoryIngest, text(0)).status)
		denied(t, a, policy.MemoryIngest, "47", "47s", "1 request/47 seconds for POST /memory/ingest")
		a.clock.Advance(47 * time.Second)
		require.Equal(t, 202, a.as("alice", policy.MemoryIngest, text(1)).status)
	})
	t.Run("burst", func(t *testing.T) {
		a := newAPI(t, withEnv("MEM_RATE_LIMIT_BURST", "2/5s"))
		a.as("alice", policy.MemorySkills, "")
		a.clock.Advance(1500 * time.Millisecond)
		a.as("alice", policy.MemorySkills, "")
		denied(t, a, policy.MemorySkills, "4", "5s", "2 requests/5 seconds for GET /memory/skills") // 3.5, rounded up
	})
}
