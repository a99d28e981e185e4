package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func none(string) (string, bool) { return "", false }

func TestRunServesUntilItIsToldToEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"-listen", "127.0.0.1:0"}, none, in)
		_ = in.Close()
	}()
	var seen strings.Builder
	log := bufio.NewReader(io.TeeReader(out, &seen))
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	address := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`).FindStringSubmatch(line)
	require.Len(t, address, 2, line)
	rest := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, log); close(rest) }()

	req, err := http.NewRequest("POST", "http://"+address[1]+"/memory/ingest", strings.NewReader(`{"content":"x"}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer s3cret")
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 202, res.StatusCode)
	http.DefaultClient.CloseIdleConnections()

	cancel()
	require.Equal(t, 0, <-ended)
	<-rest
	require.Contains(t, seen.String(), "shutting down")
	require.NotContains(t, seen.String(), "s3cret")
}

func TestRunRefuses(t *testing.T) {
	bad := func(name string) (string, bool) { return "x", strings.HasPrefix(name, "MEM_") }
	for _, c := range []struct {
		name   string
		args   []string
		lookup func(string) (string, bool)
		status int
		lines  []string
	}{
		{"unknown flag", []string{"-x"}, none, 2, []string{"flag provided but not defined: -x; -help lists the flags"}},
		{"argument", []string{"x"}, none, 2, []string{`unexpected argument "x"; -help lists the flags`}},
		{"delay", []string{"-delay", "-1s"}, none, 2, []string{"-delay -1s: must be 0s to 30s"}},
		{"environment", nil, bad, 2, []string{"MEM_RATE_LIMIT_INGEST", "MEM_RATE_LIMIT_QUERY", "MEM_RATE_LIMIT_PROJECTS",
			"MEM_RATE_LIMIT_SKILLS", "MEM_RATE_LIMIT_BURST", "MEM_IDEMPOTENCY_TTL_SECS"}},
		{"address", []string{"-listen", "127.0.0.1:x"}, none, 1, []string{"127.0.0.1:x"}},
	} {
		var stderr strings.Builder
		require.Equal(t, c.status, run(context.Background(), c.args, c.lookup, &stderr), c.name)
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		require.Len(t, lines, len(c.lines), stderr.String())
		for i, want := range c.lines {
			require.Contains(t, lines[i], want)
			require.True(t, strings.HasPrefix(lines[i], "memoryapi: "), lines[i])
		}
	}
}

func TestRunHelp(t *testing.T) {
	var stderr strings.Builder
	require.Equal(t, 0, run(context.Background(), []string{"--help"}, none, &stderr))
	for _, want := range []string{"-listen", "-delay", "MEM_RATE_LIMIT_INGEST", "MEM_RATE_LIMIT_QUERY", "MEM_RATE_LIMIT_PROJECTS",
		"MEM_RATE_LIMIT_SKILLS", "MEM_RATE_LIMIT_BURST", "MEM_IDEMPOTENCY_TTL_SECS"} {
		require.Contains(t, stderr.String(), want)
	}
}
