package envoyrls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
)

const kinds = `{domain: d, descriptors: [
	{key: user, rate_limit: {unit: day, requests_per_unit: 10, name: users}},
	{key: seen, rate_limit: {unit: day, requests_per_unit: 5}, shadow_mode: true},
	{key: free, rate_limit: {unlimited: true}},
	{key: staff, rate_limit: {unlimited: true, replaces: [{name: users}]}}]}`

// A block reaches every kind of entry, and so does its end.
func TestBlockedKey(t *testing.T) {
	s := start(t, kinds)
	all := [][]*descriptor{
		{of("user", "a")}, {of("seen", "a")}, {of("free", "a")}, {giving(1, of("user", "a"))}, {adding(0, of("user", "a"))},
		{of("user", "a"), of("staff", "b")}, // which replaces it
	}
	s.Gate().Block("a")
	for i, ds := range all {
		a := s.ask("d", append(ds, of("user", "b"), of("none", "a"))...)
		require.Equal(t, over, a.GetOverallCode(), i)
		require.Equal(t, over, a.GetStatuses()[0].GetCode(), i)
		require.Equal(t, ok, a.GetStatuses()[len(ds)].GetCode(), "the other one has not used anything up")
		require.Equal(t, ok, s.ask("d", of("user", "b"), of("seen", "b"), of("free", "b"), of("none", "a")).GetOverallCode(), "others pass")
	}
	require.EqualValues(t, 4, s.left("d", of("user", "b")), "what was refused took nothing")
	s.Gate().Unblock("a")
	for i, ds := range all {
		require.Equal(t, ok, s.ask("d", ds...).GetOverallCode(), i)
	}
}

// While everyone is blocked nothing passes, whatever it matches.
func TestEveryoneBlocked(t *testing.T) {
	s := start(t, kinds)
	all := []*descriptor{
		of("user", "a"), of("seen", "a"), of("free", "a"), of("none", "a"), giving(1, of("user", "c")), adding(0, of("user", "a")),
		adding(0, of("user", "d")), of(),
	}
	s.Gate().Block("x")
	s.Gate().Block("")
	for i, d := range all {
		require.Equal(t, []code{over}, s.codes("d", d), i)
		require.Equal(t, []code{over}, s.codes("elsewhere", d), i)
	}
	require.Equal(t, []code{over, over, over}, s.codes("d", all[:3]...))
	require.Equal(t, []code{over, over}, s.codes("d", of("user", "a"), of("user", "b")), "a group")
	s.Gate().Unblock("")
	for i, d := range all {
		require.Equal(t, []code{ok}, s.codes("d", d), i)
	}
	require.Equal(t, []code{over}, s.codes("d", of("free", "x")), "who was blocked by name still is")
	require.EqualValues(t, 9, s.left("d", of("user", "a")))
}

// A key that nobody can have blocks nobody, and the hook of the configuration is told of all.
func TestBlocksAreAudited(t *testing.T) {
	var told []tickgate.Change
	s := startWith(t, envoyrls.Config{Gate: tickgate.Config{Audit: func(c tickgate.Change) { told = append(told, c) }}}, kinds)
	s.Gate().As("risk").Block(string(make([]byte, 300)))
	s.Gate().As("risk").Block("a")
	require.Len(t, told, 2)
	require.Error(t, told[0].Err)
	require.Equal(t, "risk", told[1].Who)
	s.open("d", of("none", string(make([]byte, 300))))
}
