//go:build linux

package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStallsAreCountedFromATime(t *testing.T) {
	s := &stalls{spans: []Silence{{10, 20}, {30, 50}}}
	require.Equal(t, time.Duration(30), s.since(0))
	require.Equal(t, time.Duration(25), s.since(15))
	require.Equal(t, time.Duration(10), s.since(40))
	require.Zero(t, s.since(50))
}

func TestSharesOfSilentNodes(t *testing.T) {
	// Four nodes; a view is trusted for 100 ms. One is without an answer for a second
	// and 100 ms beside the others, all are for the second after.
	ms := int64(time.Millisecond)
	node := usual("x", Credit, "x").with(func(s *Scenario) { s.Nodes, s.MaxAge = 4, 100*time.Millisecond })
	b := &Bench{scenario: &node}
	all := Silence{3000*ms + 1, 4090 * ms}
	b.quiet = [][]Silence{{{1000 * ms, 2090 * ms}, all}, {all}, {all}, {all, {0, 9000 * ms}, {5000 * ms, 5050 * ms}}}
	r := &Result{}
	require.InDelta(t, 5*1000/4+10_000*1.0/4, b.shares(r), 1)
	require.Equal(t, 5, r.Silences)
	node.Expect.Asleep = true
	require.Zero(t, b.shares(r))
}
