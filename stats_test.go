package tickgate_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

func TestStatsCountDecisions(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{MaxKeys: 50}, policy.Set{
		policyOf(t, endpoint, "3/h"), policyOf(t, policy.DefaultEndpoint, "2/h"),
	})
	require.Equal(t, tickgate.Stats{Capacity: 50, Policies: []tickgate.PolicyStats{{Endpoint: endpoint}, {Endpoint: "default"}}}, g.Stats())

	h := handleOf(t, g, "a")                      // brings it in, and is no decision
	require.Equal(t, 3, drain(h.Allow))           // and 1 denied
	require.True(t, g.Allow("b", endpoint))       // miss
	require.True(t, g.AllowN("b", endpoint, 2))   // hit
	require.False(t, g.AllowN("b", endpoint, 1))  // hit, denied
	require.False(t, g.AllowN("b", endpoint, 99)) // hit, too costly
	require.True(t, g.Allow("a", "x"))            // miss
	require.True(t, g.Endpoint("x").Allow("a"))   // hit
	require.True(t, g.Take("a", "y", 0).Allowed)  // a look: nothing
	require.False(t, g.Allow("", "x"))            // bad
	out := make([]tickgate.Decision, 2)
	g.TakeBatch(c.Now(), []tickgate.Request{{"b", "x", 1}, {"b", "x", -1}}, out) // miss; bad

	s := g.Stats()
	require.Equal(t, []tickgate.PolicyStats{{Endpoint: endpoint, Allowed: 5, Denied: 3}, {Endpoint: "default", Allowed: 3}}, s.Policies)
	require.Equal(t, uint64(3), s.Misses)
	require.Equal(t, uint64(8), s.Hits)
	require.InDelta(t, 8.0/11, s.HitRate, 1e-12)
	require.Equal(t, 4, s.Size)
	require.Equal(t, uint64(2), s.BadRequests)
	require.Zero(t, s.NoPolicy)
}

// Denied because there is no room: denied, and a miss.
func TestStatsCountFull(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{MaxKeys: 1, OnFull: tickgate.RejectNew}, "3/h")
	require.True(t, g.Allow("a", endpoint))
	require.False(t, g.Allow("b", endpoint))
	require.Equal(t, tickgate.Full, g.Take("b", endpoint, 1).Reason)
	s := g.Stats()
	require.Equal(t, tickgate.PolicyStats{Endpoint: endpoint, Allowed: 1, Denied: 2}, s.Policies[0])
	require.Equal(t, uint64(3), s.Misses)
	require.Zero(t, s.Hits)
}

// No count gets lost between goroutines.
func TestStatsCountConcurrently(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "1000/h")
	var allowed, denied atomic.Int64
	together(8, func(i int) {
		h := handleOf(t, g, "0")
		for j := range 2000 {
			ok := false
			if j%2 == 0 {
				ok = h.Allow()
			} else {
				ok = g.Allow(fmt.Sprint(j%7), endpoint)
			}
			if ok {
				allowed.Add(1)
			} else {
				denied.Add(1)
			}
		}
	})
	s := g.Stats()
	require.Equal(t, uint64(allowed.Load()), s.Policies[0].Allowed)
	require.Equal(t, uint64(denied.Load()), s.Policies[0].Denied)
	require.Equal(t, uint64(16_000), s.Hits+s.Misses)
	require.Equal(t, 7, s.Size)
}

// Policies come and go: what was decided under one that is gone still counts as
// decided, and its own counts are there when it comes back.
func TestStatsOverChanges(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "3/h")
	for range 10 {
		g.Allow("k", endpoint)
	}
	require.Equal(t, uint64(9), g.Stats().Hits)
	require.NoError(t, g.Apply(policy.Set{policyOf(t, "other", "1/s")}))
	s := g.Stats()
	require.Equal(t, []tickgate.PolicyStats{{Endpoint: "other"}}, s.Policies)
	require.Equal(t, uint64(1), s.Misses)
	require.Equal(t, uint64(9), s.Hits)
	c.Advance(time.Second)
	require.False(t, g.Allow("k", endpoint))
	require.Equal(t, uint64(1), g.Stats().NoPolicy)
	require.NoError(t, g.Apply(setOf(t, "3/h")))
	require.Equal(t, tickgate.PolicyStats{Endpoint: endpoint, Allowed: 3, Denied: 7}, g.Stats().Policies[0])
}
