package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// checked runs check-config.
func checked(t *testing.T, environment map[string]string, args ...string) (status int, out, faults string) {
	t.Helper()
	var stdout, stderr strings.Builder
	status = run(t.Context(), append([]string{"check-config"}, args...), &world{
		stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, now: time.Now,
		lookup: func(name string) (string, bool) { v, ok := environment[name]; return v, ok },
	})
	return status, stdout.String(), stderr.String()
}

// TestSettingsOrder: a flag goes before the environment, that before the file, and that
// before what is otherwise.
func TestSettingsOrder(t *testing.T) {
	file := write(t, "tickgate.yaml", "listen: 127.0.0.1:1\nadmin: 127.0.0.1:2\nrls: 127.0.0.1:3\nrls-config: ["+write(t, "e.yaml", string(deskLimits(1)))+"]\n"+
		"set:\n  - file=1/s\n  - more=2/s\n")
	environment := map[string]string{"TICKGATE_CONFIG": file, "TICKGATE_LISTEN": "127.0.0.1:11", "TICKGATE_ADMIN": "127.0.0.1:12"}
	status, out, faults := checked(t, environment, "--listen", "127.0.0.1:21")
	require.Equal(t, exitOK, status, faults)
	require.Contains(t, out, "listen                  127.0.0.1:21  POST /v1/take")
	require.Contains(t, out, "admin                   127.0.0.1:12")
	require.Contains(t, out, "rls                     127.0.0.1:3")
	require.Contains(t, out, "file")
	require.Contains(t, out, "more")

	environment["TICKGATE_SET"] = "a=1/s\nb=2/s burst=3\n"
	status, out, faults = checked(t, environment, "--config", file, "--admin", "off")
	require.Equal(t, exitOK, status, faults)
	require.NotContains(t, out, "admin ", "a flag")
	require.NotContains(t, out, "file ", "lists are not mixed")
	require.Regexp(t, `\n  b +2/s burst=3 +command line\n`, out)
}

func TestSettingsFaults(t *testing.T) {
	for text, want := range map[string][]string{
		"lisen: x\nlisten: 127.0.0.1:1\nkeyz: y\n": {"line 1, column 1: there is no \"lisen\"", "line 3, column 1: there is no \"keyz\""},
		"connect: true\n":                          {`there is no "connect"`},
		"config: other.yaml\n":                     {`there is no "config"`},
		"listen: a:1\nlisten: b:1\n":               {`line 2: "listen" is there twice`},
		"listen:\n":                                {`line 1: "listen" must be one value`},
		"listen: [a]\n":                            {`line 1: "listen" must be one value`},
		"set: {a: b}\n":                            {`line 1: "set" must be one value`},
		"set: [[a]]\n":                             {`line 1: "set" must be a list of texts`},
		"- listen\n":                               {"line 1: must be flags by their names"},
		"listen: x\n":                              {"--listen x: must be HOST:PORT", "(given by the file of --config)"},
		"max-keys: many\n":                         {"--max-keys: ", "(given by the file of --config)"},
		"log: xml\n":                               {"--log"},
		"redis-away: later\n":                      {"--redis-away"},
		"a: [\n":                                   {"did not find"},
		"listen: a:1\n---\nlisten: b:1\n":          {"must be one document"},
		"upstream: ftp://me:s3cret@x\n":            {"--upstream: must begin with"},
	} {
		status, _, faults := checked(t, nil, "--config", write(t, "c.yaml", text))
		require.Equal(t, exitUsage, status, text)
		for _, one := range want {
			require.Contains(t, faults, one, text)
		}
		require.NotContains(t, faults, "s3cret")
		require.True(t, strings.HasPrefix(faults, "tickgate: "), faults)
	}
	status, _, faults := checked(t, nil, "--config", "/missing/c.yaml")
	require.Equal(t, exitUsage, status)
	require.Contains(t, faults, "--config: open /missing/c.yaml")
	status, _, faults = checked(t, map[string]string{"TICKGATE_READ_TIMEOUT": "0s", "TICKGATE_KEYS": "", "TICKGATE_UPSTREAM": "http://127.0.0.1:9"})
	require.Equal(t, exitUsage, status)
	require.Contains(t, faults, "--keys: is empty; give it a value, or leave it out (given by TICKGATE_KEYS)")
	status, _, faults = checked(t, map[string]string{"TICKGATE_READ_TIMEOUT": "0s"})
	require.Equal(t, exitUsage, status)
	require.Contains(t, faults, "--read-timeout 0s: must be 1ms to 24h0m0s (given by TICKGATE_READ_TIMEOUT)")
}

// TestSettingsOfOthers: variables that other programs of the field read count, and are
// not mixed up with those of other commands.
func TestSettingsOfOthers(t *testing.T) {
	status, _, faults := checked(t, map[string]string{"RATE_LIMITER_CACHE_SIZE": "0", "MEM_IDEMPOTENCY_TTL_SECS": "x", "REDIS_URL": "http://u:s3cret@x"})
	require.Equal(t, exitUsage, status)
	for _, name := range []string{"RATE_LIMITER_CACHE_SIZE", "MEM_IDEMPOTENCY_TTL_SECS", "REDIS_URL"} {
		require.Contains(t, faults, name)
	}
	require.NotContains(t, faults, "s3cret")
	status, out, faults := checked(t, map[string]string{"REDIS_URL": "redis://u:s3cret@127.0.0.1:1", "MEM_RATE_LIMIT_QUERY": "7/h"})
	require.Equal(t, exitOK, status, faults)
	require.Contains(t, out, "redis://127.0.0.1:1 ")
	require.NotContains(t, out, "s3cret")
	require.Regexp(t, `GET /memory/query +7/h name=hour +environment`, out)
	status, out, _ = checked(t, map[string]string{"REDIS_URL": "redis://127.0.0.1:1"}, "--redis", "off")
	require.Equal(t, exitOK, status)
	require.NotContains(t, out, "redis")

	s := serve(t, map[string]string{"RATE_LIMITER_CACHE_SIZE": "1234"})
	require.Equal(t, "1234", s.metric(t, "tickgate_keys_capacity"))
	s = serve(t, map[string]string{"RATE_LIMITER_CACHE_SIZE": "1234"}, "--max-keys", "99")
	require.Equal(t, "99", s.metric(t, "tickgate_keys_capacity"))

	var stderr strings.Builder
	require.Equal(t, exitOK, run(t.Context(), []string{"version"}, &world{stdout: io.Discard, stderr: &stderr,
		lookup: func(string) (string, bool) { return "", true }}), "of another command")
}

func TestCheckConfigFaults(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
	}{
		{"--admin 0.0.0.0:1: is not loopback", []string{"--admin", "0.0.0.0:1"}},
		{"--admin :1: is not loopback", []string{"--admin", ":1"}},
		{"--show-keys: does not go with --admin off", []string{"--admin", "off", "--show-keys"}},
		{"--check: goes with --upstream", []string{"--check", "127.0.0.1:1"}},
		{"--rls: needs its limits", []string{"--rls", "127.0.0.1:1"}},
		{"--rls-config: goes with --rls", []string{"--rls-config", "x"}},
		{"--rls-config: stat /missing", []string{"--rls", "127.0.0.1:1", "--rls-config", "/missing"}},
		{"--listen off: goes with --rls alone", []string{"--listen", "off"}},
		{"--set: does not go with --listen off", []string{"--listen", "off", "--rls", "127.0.0.1:1", "--rls-config", write(t, "e.yaml", string(deskLimits(1))), "--set", "a=1/s"}},
		{"--redis-mode: goes with --redis, or REDIS_URL", []string{"--redis-mode", "a=strict"}},
		{`--redis-mode "strict": must be ENDPOINT=MODE`, []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "strict"}},
		{`--redis-mode "exact": must be one of local, credit, lease, strict`, []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "a=exact"}},
		{`the gate has no policy named so`, []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "nowhere=strict"}},
		{`Strict needs a policy of one limit`, []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "a=strict", "--set", "a=1/s", "--set", "a=9/m"}},
		{"--redis-nodes 0: must be 1 to 10000", []string{"--redis", "redis://127.0.0.1:1", "--redis-nodes", "0"}},
		{"--redis-quiet -1s: must be 0s to 8760h0m0s", []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "a=lease", "--set", "a=1/s", "--redis-quiet=-1s"}},
		{"--redis-quiet: goes with a --redis-mode of lease", []string{"--redis", "redis://127.0.0.1:1", "--redis-mode", "a=strict", "--set", "a=1/s", "--redis-quiet", "1h"}},
		{"--redis-quiet: goes with --redis, or REDIS_URL", []string{"--redis-quiet", "1h"}},
		{"--idempotency-memory: does not go with --redis", []string{"--upstream", "http://127.0.0.1:9", "--redis", "redis://127.0.0.1:1", "--idempotency-memory", "2MiB"}},
		{"--idempotency-result 1GiB: must be at most", []string{"--upstream", "http://127.0.0.1:9", "--redis", "redis://127.0.0.1:1", "--idempotency-result", "1GiB"}},
		{"--postgres: cannot parse", []string{"--postgres", "postgres://u:s3cret@x:port/db"}},
		{"--postgres-poll: goes with --postgres", []string{"--postgres-poll"}},
		{"--rls: does not go with --example", []string{"--example", "memory", "--rls", "127.0.0.1:1"}},
		{"--admin :1: is not loopback", []string{"--example", "memory", "--admin", ":1"}},
		{"connection refused", []string{"--connect", "--redis", "redis://127.0.0.1:1"}},
		{"connection refused", []string{"--connect", "--postgres", "postgres://u:s3cret@127.0.0.1:1/db"}},
	} {
		status, _, faults := checked(t, nil, c.args...)
		require.Equal(t, exitUsage, status, c.reason)
		require.Contains(t, faults, c.reason)
		require.NotContains(t, faults, "s3cret")
	}
}

// TestTextsThatAreNotUTF8 are refused, as files of them are, and not mended: the name of
// an endpoint would be another one.
func TestTextsThatAreNotUTF8(t *testing.T) {
	const bad = "a\xff=1/s"
	for _, args := range [][]string{{"--set", bad}, {"--set=" + bad}, {"--set", "a=1/s", "--set", bad}, {"--admin-allow-host", bad}, {"--policies", "p\xff.yaml"}} {
		status, _, faults := checked(t, nil, args...)
		require.Equal(t, exitUsage, status, args)
		require.Contains(t, faults, "is not UTF-8", args)
	}
	status, _, faults := checked(t, map[string]string{"TICKGATE_SET": "b=1/s\n" + bad})
	require.Equal(t, exitUsage, status)
	require.Equal(t, "tickgate: TICKGATE_SET: is not UTF-8; write it in UTF-8\n", faults)
	status, _, _ = checked(t, nil, "--config", write(t, "c.yaml", "set: ['"+bad+"']\n"))
	require.Equal(t, exitUsage, status)
	status, out, faults := checked(t, nil, "--set", "a\uFFFD=1/s") // which somebody may have meant
	require.Equal(t, exitOK, status, faults)
	require.Contains(t, out, "a\uFFFD")
}
