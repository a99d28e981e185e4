package promlimit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/policy"
)

// allowed returns the series of what was allowed, by policy.
func allowed(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "tickgate_requests_total" && m.Label[0].GetValue() == "allowed" {
				out[m.Label[1].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	return out
}

// A policy that is put before the others takes no series from one that has it, and moves
// nothing that was counted.
func TestNewPolicyInFront(t *testing.T) {
	set := policy.Set{}
	for i := range 251 {
		set = append(set, policyOf(t, fmt.Sprintf("e%03d", i), "1000/s"))
	}
	g, _ := gateOf(t, set...)
	r := registryOf(collectorOf(t, promlimit.Config{Gate: g}))
	take := func(endpoint string, n int) {
		for range n {
			require.True(t, g.Allow("k", endpoint))
		}
	}
	take("e199", 3)
	take("e200", 5)
	first := allowed(t, r)
	require.Len(t, first, promlimit.DefaultMaxPolicies+1)
	require.EqualValues(t, 3, first["e199"])
	require.EqualValues(t, 5, first[promlimit.Other])

	require.NoError(t, g.Apply(append(policy.Set{policyOf(t, "aaa", "1000/s")}, set...)))
	take("aaa", 2)
	second := allowed(t, r)
	require.Len(t, second, promlimit.DefaultMaxPolicies+1)
	require.EqualValues(t, 3, second["e199"])
	require.NotContains(t, second, "aaa")
	require.EqualValues(t, 7, second[promlimit.Other])

	// Those that are added up leave, and what they counted stays.
	require.NoError(t, g.Apply(set[:200]))
	require.EqualValues(t, 7, allowed(t, r)[promlimit.Other])

	// One with a series leaves, a new one takes its place, and it comes back.
	require.NoError(t, g.Apply(append(policy.Set{policyOf(t, "new", "1000/s")}, set[:199]...)))
	take("new", 4)
	third := allowed(t, r)
	require.EqualValues(t, 4, third["new"])
	require.NotContains(t, third, "e199")
	require.NoError(t, g.Apply(append(policy.Set{policyOf(t, "new", "1000/s")}, set[:200]...)))
	take("e199", 1)
	fourth := allowed(t, r)
	require.NotContains(t, fourth, "e199")
	require.EqualValues(t, 8, fourth[promlimit.Other], "the 3 that were told by name are not told again")
}

// Whatever sets follow each other, no counter gets less, and all together are what was
// allowed of the policies that ever were.
func TestCountersNeverGetLess(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		var all policy.Set
		for i := range 12 {
			all = append(all, policyOf(t, fmt.Sprintf("e%02d", i), "unlimited"))
		}
		all = append(all, policyOf(t, promlimit.Other, "unlimited"))
		g, _ := gateOf(t, all[:3]...)
		r := registryOf(collectorOf(t, promlimit.Config{Gate: g, MaxPolicies: 4}))
		told := map[string]float64{} // the greatest of each series
		total := 0.0
		for range 60 {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			set := all[:1+random.IntN(len(all))].Clone()
			require.NoError(t, g.Apply(set))
			for range random.IntN(10) {
				require.True(t, g.Allow("k", set[random.IntN(len(set))].Endpoint))
				total++
			}
			now := allowed(t, r)
			require.LessOrEqual(t, len(now), 5)
			for name, n := range now {
				require.GreaterOrEqual(t, n, told[name], "seed %d: %s", seed, name)
				told[name] = n
			}
			sum := 0.0
			for _, n := range told {
				sum += n
			}
			require.Equal(t, total, sum, "seed %d", seed)
		}
	}
}
