package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What serve would refuse when it begins is refused without beginning.
func TestCheckConfigRefusesWhatServeDoes(t *testing.T) {
	api := []string{"--upstream", "http://127.0.0.1:9", "--set", "default=1/s"}
	for _, c := range []struct {
		faults []string
		args   []string
	}{
		{[]string{`--redis: a Redis URL with the scheme "http": it must be redis, rediss or unix`}, []string{"--redis", "http://x"}},
		{[]string{`--redis: a Redis URL`}, append(api, "--redis", "http://x")},
		{[]string{"--redis: Redis URL: "}, []string{"--redis", "redis://me:s3cret@x:port"}},
		{[]string{"--admin 127.0.0.1:9000: is the same port as --listen 127.0.0.1:9000; give each its own"}, []string{"--listen", "127.0.0.1:9000", "--admin", "127.0.0.1:9000"}},
		{[]string{"--admin localhost:9000: is the same port as --listen :9000"}, []string{"--listen", ":9000", "--admin", "localhost:9000"}},
		{[]string{"--admin localhost:09000: is the same port as --listen 127.0.0.1:9000"}, []string{"--listen", "127.0.0.1:9000", "--admin", "localhost:09000"}},
		{[]string{"--check 0.0.0.0:9000: is the same port as --listen", "--admin [::1]:9000: is the same port as --check"}, append(api, "--listen", "127.0.0.1:9000", "--check", "0.0.0.0:9000", "--admin", "[::1]:9000")},
		{[]string{"is the same port", `"http"`, "--max-keys 0"}, []string{"--listen", ":9464", "--redis", "http://x", "--max-keys", "0"}},
	} {
		status, _, faults := checked(t, nil, c.args...)
		require.Equal(t, exitUsage, status, c.args)
		for _, one := range c.faults {
			require.Contains(t, faults, one)
		}
		require.NotContains(t, faults, "cret")
	}
	for _, args := range [][]string{
		{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, {"--listen", "127.0.0.1:9000", "--admin", "127.0.0.2:9000"},
		{"--listen", "127.0.0.1:9000", "--admin", "off"}, append(api, "--redis", "redis://127.0.0.1:1"), append(api, "--redis", "off"),
	} {
		status, _, faults := checked(t, nil, args...)
		require.Equal(t, exitOK, status, faults)
	}
}

func TestCheckConfigPrintsLimitsForEnvoy(t *testing.T) {
	file := write(t, "orders.yaml", string(deskLimits(7)))
	for _, more := range [][]string{{"--listen", "off"}, nil} {
		status, out, faults := checked(t, nil, append(more, "--rls", ":8081", "--rls-config", file)...)
		require.Equal(t, exitOK, status, faults)
		require.Regexp(t, `(?m)^limits for Envoy\n  orders\S*desk\S* +7/h`, out)
	}
}

// A variable that is misspelt is named, and the one that may be meant.
func TestVariablesThatNobodyReads(t *testing.T) {
	environment := map[string]string{
		"TICKGATE_LISTN": "127.0.0.1:1", "TICKGATE_TLS_CLIENTCA": "s3cret", "TICKGATE_SET": "a=1/s", "LISTEN": "x",
		// A service of Kubernetes that is called tickgate, and tickgate-admin.
		"TICKGATE_SERVICE_HOST": "10.0.0.1", "TICKGATE_SERVICE_PORT_HTTP": "80", "TICKGATE_PORT": "tcp://10.0.0.1:80", "TICKGATE_PORT_80_TCP_ADDR": "10.0.0.1",
		"TICKGATE_ADMIN_SERVICE_HOST": "10.0.0.2", "TICKGATE_ADMIN_PORT": "tcp://10.0.0.2:80",
		"TICKGATE_CHECK_PORT": "80",
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	want := func(log string) {
		t.Helper()
		for name, near := range map[string]string{
			"TICKGATE_LISTN": "TICKGATE_LISTEN", "TICKGATE_TLS_CLIENTCA": "TICKGATE_TLS_CLIENT_CA", "TICKGATE_CHECK_PORT": "TICKGATE_CHECK",
		} {
			require.Contains(t, log, "name="+name+" nearest="+near+"\n")
		}
		require.Equal(t, 3, strings.Count(log, "is no flag's"), log)
		require.NotContains(t, log, "s3cret")
	}
	status, _, said := checked(t, environment)
	require.Equal(t, exitOK, status, said)
	want(said)
	want(serve(t, environment).String())

	var log bytes.Buffer
	require.Equal(t, exitOK, run(t.Context(), []string{"version"}, &world{stdout: io.Discard, stderr: &log}))
	require.Empty(t, log.String())
}

func TestNearest(t *testing.T) {
	known := []string{"TICKGATE_KEY", "TICKGATE_KEYS", "TICKGATE_POLICIES"}
	for name, want := range map[string]string{
		"TICKGATE_KEYZ": "TICKGATE_KEY", "TICKGATE_POLICY": "TICKGATE_POLICIES", "TICKGATE_": "TICKGATE_KEY", "TICKGATE_" + strings.Repeat("é", 10_000): "TICKGATE_KEY",
	} {
		require.Equal(t, want, nearest(name, known), "%.40s", name)
	}
	require.Equal(t, 3, changes("kitten", "sitting"))
	require.Equal(t, 4, changes("", "abcd"))
}
