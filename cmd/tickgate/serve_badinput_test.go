package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServeBadFlags(t *testing.T) {
	ca := newAuthority(t, "authority")
	cert, key := ca.issue(t, "a")
	_, otherKey := ca.issue(t, "b")
	missing := filepath.Join(t.TempDir(), "missing")
	up := []string{"--upstream", "http://127.0.0.1:9"}
	memory := []string{"--example", "memory"}
	for _, c := range []struct {
		reason string
		form   []string
		args   []string
	}{
		{"give either --example memory or --upstream URL", up, memory},
		{`--example "shop": the only example is memory`, nil, []string{"--example", "shop"}},
		{"--upstream: must begin with http://", nil, []string{"--upstream", "ftp://x"}},
		{"--upstream: is empty; give it a value, or leave it out", nil, []string{"--upstream="}},
		{"--example: is empty", nil, []string{"--example", ""}},
		{"--keys: is empty", up, []string{"--keys", ""}},
		{"--tls-client-ca: is empty", up, []string{"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ""}},
		{"--policies: is empty", up, []string{"--policies", ""}},
		{"--upstream-ca: is empty", []string{"--upstream", "https://x"}, []string{"--upstream-ca="}},
		{"--idempotency-field: is empty", up, []string{"--idempotency-field", ""}},
		{"--set: is empty", up, []string{"--set", "default=1/s", "--set", "", "--set", ""}},
		{"--key: is empty", up, []string{"--key="}},
		{"--listen: is empty", up, []string{"--listen", ""}},
		{"--upstream: must not hold a user", nil, []string{"--upstream", "http://me:s3cret@x"}},
		{"--delay: goes with --example", up, []string{"--delay", "1s"}},
		{"--delay 31s: must be 0s to 30s", memory, []string{"--delay", "31s"}},
		{"--delay -1s: must be 0s to 30s", memory, []string{"--delay=-1s"}},
		{"--set: does not go with --example", memory, []string{"--set", "default=1/s"}},
		{"--keys: does not go with --example", memory, []string{"--keys", missing}},
		{"--max-body: does not go with --example", memory, []string{"--max-body", "1KiB"}},
		{"--on-missing: does not go with --example", memory, []string{"--on-missing", "deny"}},
		{"--listen 8080: must be HOST:PORT", up, []string{"--listen", "8080"}},
		{"--listen :http: must be HOST:PORT", up, []string{"--listen", ":http"}},
		{"--listen :65536: must be HOST:PORT", up, []string{"--listen", ":65536"}},
		{"--key \"cookie\": must be bearer, or header:", up, []string{"--key", "cookie"}},
		{"--keys: open", up, []string{"--keys", missing}},
		{"keys.txt: holds no key", up, []string{"--keys", write(t, "keys.txt", "# none\n")}},
		{"--on-missing", up, []string{"--on-missing", "maybe"}},
		{"--headers", up, []string{"--headers", "all"}},
		{"missing: no such file", up, []string{"--policies", missing}},
		{"p.json: line 1", up, []string{"--policies", write(t, "p.json", `[{"endpoint":"GET /","limits":["x"]}]`)}},
		{`no policy "default"`, up, []string{"--policies", write(t, "p.json", `[{"endpoint":"GET /","limits":["1/s"]}]`)}},
		{`policy "order.new": no pattern of requests`, up, []string{"--set", "order.new=1/s"}},
		{`--set: default = "x": not a rate`, up, []string{"--set", "default=x"}},
		{`policy "GET /{b}": matches requests that "GET /{a}" matches too`, up, []string{"--set", "GET /{a}=1/s", "--set", "GET /{b}=1/s"}},
		{"--max-keys 0: must be 1 to", up, []string{"--max-keys", "0"}},
		{"--max-body 0B: must be 1B to 1GiB", up, []string{"--max-body", "0"}},
		{`--max-body: "1MB" must be a whole number of bytes, KiB`, up, []string{"--max-body", "1MB"}},
		{"--max-body", up, []string{"--max-body", "9999999999GiB"}},
		{"--max-header 1B: must be 1KiB to 1MiB", up, []string{"--max-header", "1"}},
		{"--read-timeout 0s: must be 1ms to 24h0m0s", up, []string{"--read-timeout", "0"}},
		{"--write-timeout 25h0m0s: must be", up, []string{"--write-timeout", "25h"}},
		{"--idle-timeout -1s: must be", up, []string{"--idle-timeout=-1s"}},
		{"--shutdown-timeout -1s: must be 0s to", up, []string{"--shutdown-timeout=-1s"}},
		{"--upstream-timeout 0s: must be", up, []string{"--upstream-timeout", "0s"}},
		{"--upstream-timeout", up, []string{"--upstream-timeout", "soon"}},
		{"--idempotency-ttl 1ms: must be 1s to", up, []string{"--idempotency-ttl", "1ms"}},
		{"--idempotency-records 0: must be 1 to", up, []string{"--idempotency-records", "0"}},
		{"--idempotency-memory 1KiB: must be 1MiB to 1TiB", up, []string{"--idempotency-memory", "1KiB"}},
		{"--idempotency-per-caller 1: must be 2 to", up, []string{"--idempotency-per-caller", "1"}},
		{"--idempotency-per-caller 0: must be 2 to", up, []string{"--idempotency-per-caller", "0"}},
		{"--idempotency-result 0B: must be 1B to 1GiB", up, []string{"--idempotency-result", "0"}},
		{`--idempotency-header "set-cookie": must not be kept`, up, []string{"--idempotency-header", "set-cookie"}},
		{`--idempotency-header "a b": must be the name of a header`, up, []string{"--idempotency-header", "a b"}},
		{"--idempotency-result: does not go with --example", memory, []string{"--idempotency-result", "1KiB"}},
		{"--log-callers: does not go with --example", memory, []string{"--log-callers"}},
		{"--upgrade: none does not go with others", up, []string{"--upgrade", "none", "--upgrade", "h2c"}},
		{`--upgrade: "a, b": must be the name of one protocol`, up, []string{"--upgrade", "a, b"}},
		{`--key "header:TE": that header is not handed on`, up, []string{"--key", "header:TE"}},
		{"--idempotency-header: does not go", up, []string{"--idempotency", "off", "--idempotency-header", "X-Own"}},
		{"--idempotency-field: does not go with --idempotency off", up, []string{"--idempotency", "off", "--idempotency-field", "id"}},
		{"--idempotency-missing", up, []string{"--idempotency-missing", "guess"}},
		{"--tls-cert, --tls-key and --tls-client-ca: TLS needs", up, []string{"--tls-cert", cert}},
		{"--tls-cert, --tls-key and --tls-client-ca: TLS needs", memory, []string{"--tls-client-ca", ca.file}},
		{"--tls: ", up, []string{"--tls-cert", missing, "--tls-key", key}},
		{"private key does not match", up, []string{"--tls-cert", cert, "--tls-key", otherKey}},
		{"holds no certificate in PEM form", memory, []string{"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", key}},
		{"--upstream-ca: goes with an --upstream that begins with https://", up, []string{"--upstream-ca", ca.file}},
		{"--upstream-ca: " + key + ": holds no certificate", []string{"--upstream", "https://127.0.0.1:9"}, []string{"--upstream-ca", key}},
		{"--log", up, []string{"--log", "xml"}},
		{"--log-level", up, []string{"--log-level", "loud"}},
		{"unexpected argument here", up, []string{"here"}},
		{"unknown flag --fast", up, []string{"--fast"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			refused(t, exitUsage, c.reason, "", append(append([]string{"serve"}, c.form...), c.args...)...)
		})
	}
}

// TestServeReportsEveryFault: of flags and files at once, each on a line of its own.
func TestServeReportsEveryFault(t *testing.T) {
	r := command(t, "", "serve", "--upstream", "ftp://me:s3cret@x", "--listen", "x", "--max-body", "0", "--key", "cookie", "--keys", "/missing/keys",
		"--set", "default=x", "--policies", "/missing/policies", "--tls-cert", "/missing/cert", "--read-timeout", "0s")
	require.Equal(t, exitUsage, r.status)
	require.NotContains(t, r.stderr, "s3cret")
	for _, want := range []string{"--upstream: ", "--listen x: ", "--max-body 0B: ", "--key ", "--keys: ", "--set: ", "/missing/policies: ", "--tls-cert", "--read-timeout"} {
		require.Contains(t, r.stderr, want)
	}
	require.Equal(t, 9, strings.Count(r.stderr, "\n"), r.stderr)
}

// TestServeReportsEveryEmptyFlag: a script whose variables are not set must not serve
// without what it asked for.
func TestServeReportsEveryEmptyFlag(t *testing.T) {
	r := command(t, "", "serve", "--upstream", "http://127.0.0.1:9", "--tls-cert=", "--tls-key=", "--keys", "")
	require.Equal(t, exitUsage, r.status)
	require.Equal(t, "tickgate: --tls-cert: is empty; give it a value, or leave it out\n"+
		"tickgate: --tls-key: is empty; give it a value, or leave it out\n"+
		"tickgate: --keys: is empty; give it a value, or leave it out\n", r.stderr)
}

func TestServeBadEnvironment(t *testing.T) {
	var stderr strings.Builder
	status := run(context.Background(), []string{"serve", "--example", "memory", "--delay", "1h"}, &world{
		stdout: io.Discard, stderr: &stderr, now: time.Now,
		lookup: func(name string) (string, bool) { return "x", strings.HasPrefix(name, "MEM_RATE_LIMIT_") },
	})
	require.Equal(t, exitUsage, status)
	for _, want := range []string{"MEM_RATE_LIMIT_INGEST", "MEM_RATE_LIMIT_BURST", "--delay 1h0m0s"} {
		require.Contains(t, stderr.String(), want)
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]byteSize{"1": 1, "1B": 1, "1KiB": 1 << 10, "3MiB": 3 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40} {
		var b byteSize
		require.NoError(t, b.UnmarshalText([]byte(text)))
		require.Equal(t, want, b)
		var again byteSize
		require.NoError(t, again.UnmarshalText([]byte(b.String())))
		require.Equal(t, b, again)
	}
	for _, text := range []string{"", "KiB", "-1", "+1", "1.5MiB", "1 MiB", "1mib", "1MB", "1k", "0x10", "9223372036854775807KiB", "99999999999999999999"} {
		var b byteSize
		require.Error(t, b.UnmarshalText([]byte(text)), text)
	}
	require.Equal(t, "1536KiB", byteSize(3<<19).String())
}
