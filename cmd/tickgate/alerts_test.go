package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var lastSuccess = regexp.MustCompile(`(?m)^tickgate_config_last_success_timestamp_seconds\{source="([^"]+)"\} (\S+)$`)

// successes returns when each source was last seen to be good, in seconds of Unix time.
func (s *served) successes(t *testing.T) map[string]float64 {
	t.Helper()
	res := s.ask(t, "operators", "GET", "/metrics", "")
	all := map[string]float64{}
	for _, m := range lastSuccess.FindAllStringSubmatch(res.text, -1) {
		at, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		all[m[1]] = at
	}
	return all
}

// The alert on stale policies is of those sources whose last success goes on while nothing
// changes, and of no other, which would be stale in a process that is well.
func TestStaleAlertIsNotOfHealthySources(t *testing.T) {
	text, err := os.ReadFile("../../adapter/promlimit/alerts.yaml")
	require.NoError(t, err)
	found := regexp.MustCompile(`last_success_timestamp_seconds\{source=~"([^"]+)"\}`).FindSubmatch(text)
	require.NotNil(t, found)
	stale := regexp.MustCompile("^(?:" + string(found[1]) + ")$")

	ca := newAuthority(t, "authority")
	cert, key := ca.issue(t, "server")
	s := serve(t, nil, "--upstream", "http://127.0.0.1:9", "--policies", write(t, "p.yaml", "- {endpoint: default, limits: [1/s]}\n"),
		"--keys", write(t, "keys.txt", "a-key-that-is-too-long-to-guess\n"), "--tls-cert", cert, "--tls-key", key)
	first := s.successes(t)
	require.Len(t, first, 4)
	require.Eventually(t, func() bool { return s.successes(t)["file"] > first["file"] }, 20*time.Second, 50*time.Millisecond)
	for source, at := range s.successes(t) {
		require.Equal(t, at > first[source], stale.MatchString(source), source)
	}
	require.True(t, stale.MatchString("postgresql"), "which is read every minute")
}
