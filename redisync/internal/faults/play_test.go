//go:build linux

package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clustered are the rows that tests also play in clusters. make faults plays all.
var clustered = map[Topology][]string{
	Masters: {
		"greedy-8-credit", "greedy-8-lease", "lost-both-30-credit", "script-flush-credit", "freeze-credit",
		"migrate-credit", "migrate-lease", "migrate-strict", "sum-migrate-credit", "sum-migrate-lease",
	},
	Replicas: {
		"greedy-8-credit", "freeze-lease",
		"failover-credit", "failover-lease", "failover-strict", "kill-master-credit", "kill-master-lease",
		"sum-failover-credit", "sum-failover-lease", "sum-migrate-credit",
	},
}

func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("servers are started and killed for two minutes")
	}
	played := map[Topology]map[string]bool{}
	for _, s := range Scenarios() {
		if s.Topology != Alone && !slices.Contains(clustered[s.Topology], s.Name) {
			continue
		}
		if played[s.Topology] == nil {
			played[s.Topology] = map[string]bool{}
		}
		played[s.Topology][s.Name] = true
		t.Run(s.Topology.Word()+"/"+s.Name, func(t *testing.T) {
			if !strings.HasPrefix(s.Name, "greedy-") {
				t.Parallel() // the others also say how much must be admitted
			}
			r := s.Play(t, 0)
			for range 2 { // a busy machine may need another turn
				if len(r.Slow) == 0 {
					break
				}
				t.Log("again: ", errors.Join(r.Slow...))
				r = s.Play(t, 0)
			}
			t.Logf("N=%d bound %.0f (%s), O %s, admitted/budget %.3f, denied %d, p50 %v, p99.9 %v, calls %d, stalled %v, flow %v",
				s.Nodes, r.Bound, r.Rule, r.O(), r.Ratio(), r.Denied, r.P50, r.P999, r.Links.Calls, r.Stalled, r.Flow)
			for _, err := range r.Faults {
				t.Error(err)
			}
			for _, err := range r.Slow {
				t.Log("three times on this machine: ", err) // make faults fails for it
			}
		})
	}
	for topology, names := range clustered {
		for _, name := range names {
			require.True(t, played[topology][name], "no row is named %s %s", topology, name)
		}
	}
}

func TestScenariosAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		name := s.Topology.Word() + "/" + s.Name
		require.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
		require.NotEmpty(t, s.Fault, name)
		require.NotEmpty(t, s.Expect.Rule, name)
		require.Positive(t, s.Nodes, name)
		require.LessOrEqual(t, s.least(), 10*time.Second, name)
	}
	require.Greater(t, len(seen), 100)
}

// A harness that cannot see a violation proves nothing: nodes that share nothing, and
// nodes with a credit above the one that the bound is made of, must be found out.
func TestFaultsAreSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("five seconds")
	}
	plain := Scenarios()[0]
	for _, s := range Scenarios() {
		if s.Name == "greedy-8-credit" && s.Topology == Alone {
			plain = s
		}
	}
	require.Equal(t, 112.0, plain.Expect.Bound)
	r := plain.with(func(s *Scenario) { s.Mode = Apart }).play(t)
	require.Greater(t, r.Worst.Low, 1000.0)
	require.NotEmpty(t, r.Faults)

	r = plain.with(func(s *Scenario) { s.Credit = 48 }).play(t)
	require.Greater(t, r.Worst.Low, 112.0, "three times the credit exceeds the bound")
	require.NotEmpty(t, r.Faults)

	r = plain.with(func(s *Scenario) { s.Credit = 4 }).play(t)
	require.NotEmpty(t, r.Slow, "a quarter of the credit does not reach the bound")
}

func (s Scenario) play(t *testing.T) *Result {
	t.Helper()
	return s.Play(t, 0)
}
