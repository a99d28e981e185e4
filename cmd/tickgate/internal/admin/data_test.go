package admin

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func TestData(t *testing.T) {
	trial := limited("trial", "1/h")
	trial.Shadow = true
	r := rigOf(t, func(r *rig) {
		r.Version = "tickgate v1.2.3"
		r.Clock = func() clock.Source { return clock.Source{Name: "tsc", Reason: "trusted", Frequency: 2e9} }
	}, limited("orders", "4/h name=hour", "100/d"), trial)
	r.take(6, "desk", "orders")
	r.take(1, "other", "orders")
	r.take(3, "desk", "trial")
	r.Gate.Block("blocked")
	r.take(1, "blocked", "orders")
	r.pass(time.Second)
	r.History.Sample()
	d := object(t, r.get("/debug/tickgate/data"), 200)
	at := float64(r.now().UnixMilli())
	require.Equal(t, at, d["at"])
	require.Equal(t, "7", d["policy_version"])
	require.Equal(t, []any{[]any{at, 8.0, 3.0, 2.0}}, d["points"])
	require.Equal(t, []any{}, d["not_ready"])
	orders := d["policies"].([]any)[0].(map[string]any)
	hour := orders["limits"].([]any)[0].(map[string]any)
	require.Equal(t, "4/h name=hour", hour["text"])
	require.Equal(t, 2.0, hour["keys"], "a blocked key that was not seen before is not held")
	require.Equal(t, 1.0, hour["used_up"])
	require.Equal(t, 1.0, hour["fullest"])
	require.Equal(t, 0.625, hour["mean"])
	delete(orders, "limits")
	require.Equal(t, map[string]any{"endpoint": "orders", "shadow": false, "allowed": 5.0, "denied": 3.0, "barred": 1.0, "shadowed": 0.0}, orders)
	require.Equal(t, 2.0, d["policies"].([]any)[1].(map[string]any)["shadowed"])
	top := d["top"].(map[string]any)["keys"].([]any)
	require.Equal(t, map[string]any{
		"key": r.Denials.Name("desk"), "denied": 2.0, "at_least": 2.0, "endpoint": "orders", "last": at - 1000,
	}, top[0])
	rejects := d["rejects"].(map[string]any)
	require.Equal(t, 3.0, rejects["total"])
	require.Equal(t, map[string]any{
		"at": at - 1000, "key": r.Denials.Name("blocked"), "endpoint": "orders", "limit": "", "reason": "blocked", "cost": 1.0, "retry_after": -1.0, "version": "7",
	}, rejects["last"].([]any)[0])
	require.Equal(t, "hour", rejects["last"].([]any)[1].(map[string]any)["limit"])
	require.Equal(t, "block", d["changes"].([]any)[0].(map[string]any)["what"])
	require.Equal(t, 2e9, d["clock"].(map[string]any)["hz"])
	for _, absent := range []string{"sync", "sources", "table", "pages", "latency"} {
		require.NotContains(t, d, absent)
	}
	require.NotContains(t, r.get("/debug/tickgate/data").Body.String(), "desk", "keys are not shown")

	// Only what is new is sent again.
	r.pass(time.Second)
	r.History.Sample()
	d = object(t, r.get(fmt.Sprintf("/debug/tickgate/data?since=%.0f", at)), 200)
	require.Len(t, d["points"], 1)
	require.Equal(t, 400, r.get("/debug/tickgate/data?since=x").Code)
}

func TestDataOfWhatMayBeAbsent(t *testing.T) {
	sampler, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: 1})
	require.NoError(t, err)
	r := rigOf(t, func(r *rig) {
		r.Sampler = sampler
		r.Sync = func() promlimit.Sync {
			return promlimit.Sync{Nodes: 3, Away: true, ViewAge: 2 * time.Second, FuseOpened: 1}
		}
		r.Sources = func() []Source {
			return []Source{{Name: "postgresql", Version: "9", LastSuccess: r.at, LastError: errors.New("bad row")}, {Name: "file"}}
		}
		r.Table = func() Table { return Table{Slots: 8, Shards: []int{1, 2}} }
		r.Pages = func() Pages { return Pages{Setting: "madvise", Anonymous: 10, Huge: 4} }
	}, limited("orders", "4/h"))
	require.Equal(t, 0.0, object(t, r.get("/debug/tickgate/data"), 200)["latency"].(map[string]any)["samples"])
	for range 100 {
		sampler.Take(r.Gate, "k", "orders", 1)
	}
	d := object(t, r.get("/debug/tickgate/data"), 200)
	latency := d["latency"].(map[string]any)
	require.Equal(t, 100.0, latency["samples"])
	before := 0.0
	for _, q := range latency["quantiles"].([]any) {
		require.GreaterOrEqual(t, q, before)
		before = q.(float64)
	}
	require.Positive(t, before)
	require.Equal(t, true, d["sync"].(map[string]any)["away"])
	require.Equal(t, 2.0, d["sync"].(map[string]any)["view_age"])
	sources := d["sources"].([]any)
	require.Equal(t, "bad row", sources[0].(map[string]any)["last_error"])
	require.Equal(t, 0.0, sources[1].(map[string]any)["last_success"], "never")
	require.Equal(t, []any{1.0, 2.0}, d["table"].(map[string]any)["shards"])
	require.Equal(t, "madvise", d["pages"].(map[string]any)["setting"])
}

// A gate of many policies does not make the page long.
func TestDataIsBounded(t *testing.T) {
	var set policy.Set
	for i := range 300 {
		set = append(set, limited(fmt.Sprint("e", i), "5/h"))
	}
	r := rigOf(t, nil, set...)
	for i := range 200 {
		r.take(6, fmt.Sprint("k", i), "e1")
		r.Gate.Block("x")
	}
	d := object(t, r.get("/debug/tickgate/data"), 200)
	require.Len(t, d["policies"], 200)
	require.Equal(t, 100.0, d["more_policies"])
	require.Len(t, d["top"].(map[string]any)["keys"], 20)
	require.Len(t, d["rejects"].(map[string]any)["last"], 50)
	require.Len(t, d["changes"], 20)
}

// However many ask, all keys are looked at now and then only, and not too many of them.
func TestLooksAreBounded(t *testing.T) {
	at, looks, keys, cost := time.Unix(1000, 0), 0, 5, time.Duration(0)
	u := newUtilisation([]gate{{usage: func(each func(*tickgate.Quota) bool) {
		looks++
		at = at.Add(cost)
		q := tickgate.Quota{Policy: "p", BannedFor: 1, Limits: []tickgate.LimitQuota{{Limit: "l", Capacity: 10, Used: 25}}}
		for range keys {
			if !each(&q) {
				return
			}
		}
	}}}, func() time.Time { return at })
	l := u.look()
	require.Equal(t, &look{at: at, keys: 5, banned: 5, limits: map[limitOf]*limitUse{{0, "p", "l"}: {keys: 5, used: 5, fullest: 1, sum: 5}}}, l)
	at = at.Add(5*time.Second - 1)
	require.Same(t, l, u.look())
	require.Equal(t, 1, looks)
	at, keys, cost = at.Add(1), 1_000_000, time.Second
	l = u.look()
	require.Equal(t, lookKeys, l.keys)
	require.True(t, l.partial)
	at = at.Add(98 * time.Second)
	require.Same(t, l, u.look(), "it took long")
	at = at.Add(time.Second)
	require.NotSame(t, l, u.look())
	require.Equal(t, 3, looks)
}
