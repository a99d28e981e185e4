package envoyrls_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
)

// The hook is told what the gate's own names are, why, and when it passes.
func TestDenied(t *testing.T) {
	var told []envoyrls.Denial
	s := startWith(t, envoyrls.Config{Denied: func(d *envoyrls.Denial) { told = append(told, *d) }}, `{domain: d, descriptors: [
		{key: user, rate_limit: {unit: day, requests_per_unit: 2}},
		{key: desk, rate_limit: {unit: minute, requests_per_unit: 60, burst: 5, name: desks}, descriptors: [{key: of, rate_limit: {unit: day, requests_per_unit: 1}}]},
		{key: firm, value: one, rate_limit: {unit: day, requests_per_unit: 0}},
		{key: seen, rate_limit: {unit: day, requests_per_unit: 1}, shadow_mode: true},
		{key: free, rate_limit: {unlimited: true}}]}`)
	denied := func(of ...*descriptor) []envoyrls.Denial {
		told = nil
		require.Equal(t, over, s.ask("d", of...).GetOverallCode())
		return told
	}
	const never = tickgate.Never
	const limited, costly, blocked = tickgate.Limited, tickgate.TooCostly, tickgate.Blocked
	one := func(endpoint, key, limit string, why tickgate.Reason, hits int64, retry time.Duration) []envoyrls.Denial {
		return []envoyrls.Denial{{Domain: "d", Endpoint: endpoint, APIKey: key, Limit: limit, Reason: why, Hits: hits, RetryAfter: retry}}
	}
	s.ask("d", adding(2, of("user", "a")), adding(5, of("desk", "7")), of("seen", "a"))
	require.Empty(t, told)
	require.Equal(t, one("d;user", "a", "2 per day", limited, 1, 24*time.Hour), denied(of("user", "a")))
	require.Equal(t, one("d;desk", "7", "desks", limited, 3, 3*time.Second), denied(adding(3, of("desk", "7")), of("user", "b"), of("seen", "a")))
	require.Equal(t, one("d;desk", "7", "desks", limited, 0, 5*time.Second), denied(adding(0, of("desk", "7"))), "a look: until it is full")
	require.Equal(t, one("d;desk", "7", "desks", costly, 6, never), denied(adding(6, of("desk", "7"))))
	require.Equal(t, one("d;user", "c", "2 per day", costly, math.MaxInt64, never), denied(adding(math.MaxUint64, of("user", "c"))), "the sum does not wrap")
	require.Equal(t, one("d;firm=one", `\e`, "0 per day", costly, 1, never), denied(of("firm", "one")))
	require.Equal(t, one("d;user", "a", "2 per day", costly, 3, never), denied(of("user", "a"), adding(2, of("user", "a"))), "once for a key, with all its hits")
	require.Len(t, denied(of("user", "a"), of("desk", "7")), 2)

	s.Gate().Block("a")
	require.Equal(t, one("d;user", "a", "", blocked, 1, never), denied(of("user", "a")))
	require.Equal(t, one("d;seen", "a", "", blocked, 1, never), denied(of("seen", "a")))
	require.Equal(t, one("d", "a", "", blocked, 7, never), denied(adding(7, of("free", "a"))))
	s.Gate().Block("")
	require.Equal(t, one("d", "", "", blocked, 1, never), denied(of("none", "a"), of("none", "b")))
	require.Equal(t, one("d;user", "new", "", blocked, 1, never), denied(of("user", "new")))
	s.Gate().Unblock("")

	// What is told is what the gate takes.
	for _, values := range [][]string{{"x", "y|z"}, {`\`, ""}, {strings.Repeat("k", 300), "of"}} {
		pair := of("desk", values[0], "of", values[1])
		s.ask("d", pair)
		d := denied(pair)[0]
		require.Equal(t, "d;desk;of", d.Endpoint)
		quota := s.Gate().Usage(d.APIKey)
		require.Len(t, quota, 1)
		require.Equal(t, d.Endpoint, quota[0].Endpoint)
		s.Gate().Block(d.APIKey)
		require.Equal(t, blocked, denied(pair)[0].Reason)
	}
}

// A gate that is full says so.
func TestDeniedForWantOfRoom(t *testing.T) {
	var told []envoyrls.Denial
	s := startWith(t, envoyrls.Config{Gate: gateWith(1, tickgate.RejectNew), Denied: func(d *envoyrls.Denial) { told = append(told, *d) }}, perUser)
	s.ask("d", of("user", "a"))
	s.ask("d", of("user", "b"))
	s.ask("d", of("user", "c"), of("user", "d"))
	for _, d := range told {
		require.Equal(t, tickgate.Full, d.Reason)
	}
	require.GreaterOrEqual(t, len(told), 2)
}

// Changes are in the name of their source and its version, also those that are refused.
func TestChangesHaveANameAndAVersion(t *testing.T) {
	var who []string
	cfg := envoyrls.Config{Source: "rls", Gate: tickgate.Config{Audit: func(c tickgate.Change) { who = append(who, c.Who) }}}
	s := startWith(t, cfg, perUser)
	require.Error(t, s.Apply(filesOf(limitOf("d", "user", "{unit: year, requests_per_unit: 4294967295, burst: 4294967295}"))...))
	require.NoError(t, s.Apply(filesOf(limitOf("d", "user", tenADay))...))
	require.NoError(t, s.Apply(filesOf(perUser)...))
	require.NoError(t, s.Apply(filesOf(perUser)...), "the same again is no change")
	require.Equal(t, []string{"rls@2", "rls@2", "rls@3"}, who)
	cfg.Source = ""
	who = nil
	s = startWith(t, cfg, perUser)
	require.NoError(t, s.Apply(filesOf(limitOf("d", "user", tenADay))...))
	require.Equal(t, []string{"envoyrls@2"}, who)
}
