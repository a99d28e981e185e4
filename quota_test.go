package tickgate_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func quotaGate(t *testing.T) (*tickgate.Gate, *clock.Manual) {
	t.Helper()
	var set policy.Set
	for endpoint, limits := range map[string][]string{
		"orders": {"10/s name=rate", "20/m rolling name=minute"}, "closed": {"deny"}, "default": {"5/h name=hour"},
	} {
		p := policy.Policy{Endpoint: endpoint}
		for _, text := range limits {
			l, err := policy.ParseLimit(text)
			require.NoError(t, err)
			p.Limits = append(p.Limits, l)
		}
		set = append(set, p)
	}
	c := clock.NewManual(clock.Time(time.Hour))
	g, err := tickgate.New(tickgate.Config{Policies: set, Clock: c})
	require.NoError(t, err)
	return g, c
}

func TestUsage(t *testing.T) {
	g, c := quotaGate(t)
	long := strings.Repeat("k", 200)
	for _, key := range []string{"k", "other", long} {
		require.True(t, g.AllowN(key, "orders", 4))
	}
	require.True(t, g.AllowN("k", "elsewhere/"+long[:80], 5))
	require.Empty(t, g.Usage("kk"))
	require.Empty(t, g.Usage(""))
	require.Empty(t, g.Usage(long+long))
	c.Advance(200 * time.Millisecond)
	byEndpoint := map[string]tickgate.Quota{}
	for _, q := range g.Usage("k") {
		byEndpoint[q.Endpoint] = q
	}
	require.Equal(t, map[string]tickgate.Quota{
		"orders": {APIKey: "k", Endpoint: "orders", Policy: "orders", Limits: []tickgate.LimitQuota{
			{Limit: "rate", Capacity: 10, Used: 2, Remaining: 8, ResetAfter: 200 * time.Millisecond},
			{Limit: "minute", Capacity: 20, Used: 4, Remaining: 16, ResetAfter: time.Minute - 200*time.Millisecond},
		}},
		"elsewhere/" + long[:80]: {APIKey: "k", Endpoint: "elsewhere/" + long[:80], Policy: "default", Limits: []tickgate.LimitQuota{
			{Limit: "hour", Capacity: 5, Used: 5, ResetAfter: time.Hour - 200*time.Millisecond},
		}},
	}, byEndpoint)
	require.Len(t, g.Usage(long), 1)

	h, err := g.Handle("other", "orders")
	require.NoError(t, err)
	h.Charge(10)
	h.Ban(c.Now().Add(time.Second))
	g.Block("other")
	q := g.Usage("other")[0]
	require.True(t, q.Blocked)
	require.Equal(t, time.Second, q.BannedFor)
	require.EqualValues(t, 12, q.Limits[0].Used, "a debt")
	require.Zero(t, q.Limits[0].Remaining)
	h.Release()
}

// Of a key that nobody asked for over years all is there again.
func TestUsageAfterIdleTime(t *testing.T) {
	g, c := quotaGate(t)
	require.True(t, g.AllowN("k", "orders", 10))
	for range 5 {
		c.Advance(2 * 365 * 24 * time.Hour)
		for _, l := range g.Usage("k")[0].Limits {
			require.Zero(t, l.Used, l.Limit)
			require.Equal(t, l.Capacity, l.Remaining)
			require.Zero(t, l.ResetAfter)
		}
	}
}

func TestUsageFollowsApply(t *testing.T) {
	g, _ := quotaGate(t)
	require.True(t, g.AllowN("k", "orders", 4))
	set := g.Policies()
	for i, p := range set {
		if p.Endpoint == "orders" {
			set[i].Limits = []policy.Limit{{Name: "rate", Tokens: 6, Per: time.Second}}
		}
	}
	require.NoError(t, g.Apply(set))
	require.Equal(t, []tickgate.LimitQuota{{Limit: "rate", Capacity: 6, Used: 4, Remaining: 2, ResetAfter: 4 * time.Second / 6}},
		roundReset(g.Usage("k")[0].Limits))
}

// roundReset rounds times that are no whole number of nanoseconds down.
func roundReset(all []tickgate.LimitQuota) []tickgate.LimitQuota {
	for i := range all {
		all[i].ResetAfter = all[i].ResetAfter.Truncate(10 * time.Nanosecond)
		all[i].ResetAfter += 4 * time.Second / 6 % 10
	}
	return all
}

func TestEachUsage(t *testing.T) {
	g, _ := quotaGate(t)
	want := map[string]bool{}
	for i := range 500 {
		key := fmt.Sprint("key", i)
		want[key] = true
		require.True(t, g.AllowN(key, "orders", int64(1+i%10)))
	}
	got := map[string]bool{}
	g.EachUsage(func(q *tickgate.Quota) bool {
		require.Equal(t, "orders", q.Endpoint)
		require.EqualValues(t, q.Limits[0].Used, q.Limits[1].Used)
		got[q.APIKey] = true
		return true
	})
	require.Equal(t, want, got)
	n := 0
	g.EachUsage(func(*tickgate.Quota) bool { n++; return n < 3 })
	require.Equal(t, 3, n)
}

// Keys that come, go and change policies meanwhile are told as themselves.
func TestUsageUnderConcurrency(t *testing.T) {
	var set policy.Set
	for i := range 3 {
		set = append(set, policy.Policy{Endpoint: fmt.Sprint("e", i), Limits: []policy.Limit{{Name: "l", Tokens: 1000 + int64(i), Per: time.Second}}})
	}
	g, err := tickgate.New(tickgate.Config{Policies: set, MaxKeys: 64})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 20_000 {
				g.Allow(fmt.Sprint("key-of-more-than-one-word-", (i*7+w)%200), fmt.Sprint("e", i%3))
				if w == 0 && i%2000 == 0 {
					next := set.Clone()
					next[0].Limits[0].Tokens = 1000 + int64(i)
					require.NoError(t, g.Apply(next))
				}
			}
		})
	}
	for range 200 {
		g.EachUsage(func(q *tickgate.Quota) bool {
			require.True(t, strings.HasPrefix(q.APIKey, "key-of-more-than-one-word-"), q.APIKey)
			require.Equal(t, q.Endpoint, q.Policy)
			require.Len(t, q.Limits, 1)
			require.GreaterOrEqual(t, q.Limits[0].Capacity, int64(1000))
			require.LessOrEqual(t, q.Limits[0].Used, q.Limits[0].Capacity)
			return true
		})
	}
	wg.Wait()
}
