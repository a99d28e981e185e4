package promlimit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

func policyOf(t testing.TB, endpoint string, limits ...string) policy.Policy {
	t.Helper()
	p := policy.Policy{Endpoint: endpoint}
	for _, text := range limits {
		l, err := policy.ParseLimit(text)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	return p
}

func gateOf(t testing.TB, set ...policy.Policy) (*tickgate.Gate, *clock.Manual) {
	t.Helper()
	c := clock.NewManual(clock.Time(time.Hour))
	g, err := tickgate.New(tickgate.Config{Policies: set, Clock: c, MaxKeys: 100})
	require.NoError(t, err)
	return g, c
}

func collectorOf(t testing.TB, cfg promlimit.Config) *promlimit.Collector {
	t.Helper()
	c, err := promlimit.New(cfg)
	require.NoError(t, err)
	return c
}

func TestGateSeries(t *testing.T) {
	trial := policyOf(t, "trial", "1/h")
	trial.Shadow = true
	g, _ := gateOf(t, policyOf(t, "orders", "5/h name=hour", "100/d"), policyOf(t, "closed", "deny"), policyOf(t, "open", "unlimited"), trial)
	for range 7 {
		g.Take("a", "orders", 1)
	}
	g.Block("b")
	g.Allow("b", "orders")
	g.Allow("a", "closed")
	g.Allow("a", "trial")
	g.Allow("a", "trial")
	g.Allow("a", "nowhere")
	g.AllowN("a", "orders", -1)
	c := collectorOf(t, promlimit.Config{Gate: g})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP tickgate_requests_total Decisions by policy: allowed, denied by a limit, shadow_denied (allowed, but a limit in shadow mode denied), blocked (by a block or a ban), error (no policy, or a bad request).
# TYPE tickgate_requests_total counter
tickgate_requests_total{decision="allowed",policy="closed"} 0
tickgate_requests_total{decision="allowed",policy="open"} 0
tickgate_requests_total{decision="allowed",policy="orders"} 5
tickgate_requests_total{decision="allowed",policy="other"} 0
tickgate_requests_total{decision="allowed",policy="trial"} 1
tickgate_requests_total{decision="blocked",policy="closed"} 0
tickgate_requests_total{decision="blocked",policy="open"} 0
tickgate_requests_total{decision="blocked",policy="orders"} 1
tickgate_requests_total{decision="blocked",policy="other"} 0
tickgate_requests_total{decision="blocked",policy="trial"} 0
tickgate_requests_total{decision="denied",policy="closed"} 1
tickgate_requests_total{decision="denied",policy="open"} 0
tickgate_requests_total{decision="denied",policy="orders"} 2
tickgate_requests_total{decision="denied",policy="other"} 0
tickgate_requests_total{decision="denied",policy="trial"} 0
tickgate_requests_total{decision="error",policy=""} 2
tickgate_requests_total{decision="shadow_denied",policy="closed"} 0
tickgate_requests_total{decision="shadow_denied",policy="open"} 0
tickgate_requests_total{decision="shadow_denied",policy="orders"} 0
tickgate_requests_total{decision="shadow_denied",policy="other"} 0
tickgate_requests_total{decision="shadow_denied",policy="trial"} 1
# HELP tickgate_policy_limit Tokens of a limit, its capacity; +Inf for unlimited.
# TYPE tickgate_policy_limit gauge
tickgate_policy_limit{limit="hour",policy="orders"} 5
tickgate_policy_limit{limit="100/d",policy="orders"} 100
tickgate_policy_limit{limit="deny",policy="closed"} 0
tickgate_policy_limit{limit="unlimited",policy="open"} +Inf
tickgate_policy_limit{limit="1/h",policy="trial"} 1
# HELP tickgate_near_limit_total Explained decisions that were allowed and left less than a fifth of a limit.
# TYPE tickgate_near_limit_total counter
tickgate_near_limit_total{policy="closed"} 0
tickgate_near_limit_total{policy="open"} 0
tickgate_near_limit_total{policy="orders"} 1
tickgate_near_limit_total{policy="other"} 0
tickgate_near_limit_total{policy="trial"} 0
# HELP tickgate_policy_shadow 1 if the policy is in shadow mode.
# TYPE tickgate_policy_shadow gauge
tickgate_policy_shadow{policy="closed"} 0
tickgate_policy_shadow{policy="open"} 0
tickgate_policy_shadow{policy="orders"} 0
tickgate_policy_shadow{policy="trial"} 1
`), "tickgate_requests_total", "tickgate_policy_limit", "tickgate_near_limit_total", "tickgate_policy_shadow"))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// The labels are the operator's, and not without end.
func TestPoliciesBeyondTheCapAreAddedUp(t *testing.T) {
	var set policy.Set
	for i := range 20 {
		set = append(set, policyOf(t, fmt.Sprint("e", i), "1/s"))
	}
	set = append(set, policyOf(t, promlimit.Other, "1/s"))
	g, _ := gateOf(t, set...)
	for i := range 20 {
		require.True(t, g.Allow("k", fmt.Sprint("e", i)))
	}
	require.True(t, g.Allow("k", promlimit.Other))
	c := collectorOf(t, promlimit.Config{Gate: g, MaxPolicies: 5})
	require.Equal(t, 4*6+1, testutil.CollectAndCount(c, "tickgate_requests_total"))
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP tickgate_policies Policies in force.
# TYPE tickgate_policies gauge
tickgate_policies 21
`), "tickgate_policies"))
	families, err := registryOf(c).Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "tickgate_requests_total" && m.Label[0].GetValue() == "allowed" && m.Label[1].GetValue() == promlimit.Other {
				require.EqualValues(t, 16, m.Counter.GetValue())
			}
		}
	}
	all := collectorOf(t, promlimit.Config{Gate: g})
	require.Equal(t, 4*21+1, testutil.CollectAndCount(all, "tickgate_requests_total"), "the one that is named other is added up too")
}

func registryOf(c prometheus.Collector) *prometheus.Registry {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	return r
}

func TestOptionalSeries(t *testing.T) {
	g, _ := gateOf(t, policyOf(t, "e", "10/s"))
	c := collectorOf(t, promlimit.Config{
		Gate:        g,
		Idempotency: func() idem.StoreStats { return idem.StoreStats{Acquired: 3, Replayed: 2, Records: 3, Bytes: 1000} },
		Sources: func() []promlimit.Source {
			return []promlimit.Source{
				{Name: "postgres", Applied: 4, Refused: 1, LastSuccess: time.UnixMilli(1700000000500), Connection: "listening"},
				{Name: "pooled", Connection: "polling", Failing: true}, {Name: "away", Connection: promlimit.NotConnected}, {Name: "file"},
			}
		},
		Sync: func() promlimit.Sync {
			return promlimit.Sync{Nodes: 3, Away: true, ViewAge: time.Second / 2, Forgiven: 9, Leases: 2, Leased: 70, Returned: 20, Wasted: 7, Learning: 1, StrictFailed: 4}
		},
	})
	require.NoError(t, testutil.CollectAndCompare(c, strings.NewReader(`
# HELP tickgate_config_connected 1 while there is a connection by which a source hears of changes, or is asked for them.
# TYPE tickgate_config_connected gauge
tickgate_config_connected{source="away"} 0
tickgate_config_connected{source="pooled"} 1
tickgate_config_connected{source="postgres"} 1
# HELP tickgate_config_failing 1 while the last attempt on a source was refused, or got nothing: an older set is in force.
# TYPE tickgate_config_failing gauge
tickgate_config_failing{source="away"} 0
tickgate_config_failing{source="file"} 0
tickgate_config_failing{source="pooled"} 1
tickgate_config_failing{source="postgres"} 0
# HELP tickgate_config_last_success_timestamp_seconds When a source was last seen to be good; 0 if never. Only of a source that is looked at all the time does it go on by itself.
# TYPE tickgate_config_last_success_timestamp_seconds gauge
tickgate_config_last_success_timestamp_seconds{source="away"} 0
tickgate_config_last_success_timestamp_seconds{source="file"} 0
tickgate_config_last_success_timestamp_seconds{source="pooled"} 0
tickgate_config_last_success_timestamp_seconds{source="postgres"} 1.7000000005e+09
# HELP tickgate_config_reloads_total Policies loaded from a source: applied, or refused for a fault.
# TYPE tickgate_config_reloads_total counter
tickgate_config_reloads_total{result="applied",source="away"} 0
tickgate_config_reloads_total{result="applied",source="file"} 0
tickgate_config_reloads_total{result="applied",source="pooled"} 0
tickgate_config_reloads_total{result="applied",source="postgres"} 4
tickgate_config_reloads_total{result="refused",source="away"} 0
tickgate_config_reloads_total{result="refused",source="file"} 0
tickgate_config_reloads_total{result="refused",source="pooled"} 0
tickgate_config_reloads_total{result="refused",source="postgres"} 1
# HELP tickgate_sync_fuse_open 1 while nothing was answered for longer than a view is trusted.
# TYPE tickgate_sync_fuse_open gauge
tickgate_sync_fuse_open 1
# HELP tickgate_sync_lease_granted_total Tokens that were leased to this process.
# TYPE tickgate_sync_lease_granted_total counter
tickgate_sync_lease_granted_total 70
# HELP tickgate_sync_lease_learning_total Answers that leased nothing because Redis might have lost leases.
# TYPE tickgate_sync_lease_learning_total counter
tickgate_sync_lease_learning_total 1
# HELP tickgate_sync_lease_returned_total Leased tokens that were given back.
# TYPE tickgate_sync_lease_returned_total counter
tickgate_sync_lease_returned_total 20
# HELP tickgate_sync_lease_wasted_total Leased tokens that ran out unused.
# TYPE tickgate_sync_lease_wasted_total counter
tickgate_sync_lease_wasted_total 7
# HELP tickgate_sync_leases Keys whose lease, held by this process, is good and has enough.
# TYPE tickgate_sync_leases gauge
tickgate_sync_leases 2
# HELP tickgate_sync_nodes Processes that share budgets.
# TYPE tickgate_sync_nodes gauge
tickgate_sync_nodes 3
# HELP tickgate_sync_strict_failed_total Strict calls that nobody decided, and that were denied.
# TYPE tickgate_sync_strict_failed_total counter
tickgate_sync_strict_failed_total 4
# HELP tickgate_sync_tokens_forgiven_total Tokens of debts that Redis forgave.
# TYPE tickgate_sync_tokens_forgiven_total counter
tickgate_sync_tokens_forgiven_total 9
# HELP tickgate_sync_view_age_seconds Time since the last answer.
# TYPE tickgate_sync_view_age_seconds gauge
tickgate_sync_view_age_seconds 0.5
`), "tickgate_config_connected", "tickgate_config_failing", "tickgate_config_last_success_timestamp_seconds", "tickgate_config_reloads_total", "tickgate_sync_fuse_open",
		"tickgate_sync_leases", "tickgate_sync_lease_granted_total", "tickgate_sync_lease_returned_total", "tickgate_sync_lease_wasted_total",
		"tickgate_sync_lease_learning_total", "tickgate_sync_strict_failed_total",
		"tickgate_sync_nodes", "tickgate_sync_tokens_forgiven_total", "tickgate_sync_view_age_seconds"))
	require.Equal(t, 7, testutil.CollectAndCount(c, "tickgate_idempotency_requests_total"))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestConfigReportsAllFaults(t *testing.T) {
	_, err := promlimit.New(promlimit.Config{MaxPolicies: -1})
	require.EqualError(t, err, "Gate = \"nil\": is required\nMaxPolicies = -1: must be 1 to 10,000, or 0 for 200")
	var one *tickgate.ConfigError
	require.True(t, errors.As(err, &one))
}

// Scrapes while policies change and others decide.
func TestScrapesUnderConcurrency(t *testing.T) {
	set := policy.Set{policyOf(t, "a", "100/s"), policyOf(t, "b", "100/s")}
	g, _ := gateOf(t, set...)
	r := registryOf(collectorOf(t, promlimit.Config{Gate: g}))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 5000 {
				g.Allow("k", "a")
			}
		})
	}
	wg.Go(func() {
		for i := range 100 {
			require.NoError(t, g.Apply(set[:1+i%2]))
		}
	})
	for range 100 {
		_, err := r.Gather()
		require.NoError(t, err)
	}
	wg.Wait()
}
