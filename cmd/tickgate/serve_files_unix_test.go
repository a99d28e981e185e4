//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe.yaml")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// TestServeRefusesWhatIsNoFile: to open a pipe that nobody writes to would hang, at the start
// and for whoever ends the process.
func TestServeRefusesWhatIsNoFile(t *testing.T) {
	p, long := pipe(t), write(t, "long.pem", strings.Repeat("x", mostPEM+1))
	up := []string{"--upstream", "http://127.0.0.1:9"}
	for want, args := range map[string][]string{
		"--policies " + p + ": is not a regular file":    {"--policies", p},
		"--rls-config: " + p + ": is not a regular file": {"--rls", "127.0.0.1:0", "--rls-config", p},
		"--keys " + p + ": is not a regular file":        append(up, "--keys", p),
		"--upstream-ca " + p + ": is not a regular file": {"--upstream", "https://127.0.0.1:9", "--upstream-ca", p},
		"--tls-cert " + p + ": is not a regular file":    {"--tls-cert", p, "--tls-key", p},
		"--tls-client-ca " + p + ": is not a regular":    {"--tls-cert", long, "--tls-key", long, "--tls-client-ca", p},
		"--tls-key " + long + ": has 1048577 bytes":      {"--tls-cert", long, "--tls-key", long},
		"--upstream-ca " + long + ": has 1048577 bytes":  {"--upstream", "https://127.0.0.1:9", "--upstream-ca", long},
	} {
		for _, name := range []string{"serve", "check-config"} {
			r := command(t, "", append([]string{name}, args...)...)
			require.Equal(t, exitUsage, r.status)
			require.Contains(t, r.stderr, want)
		}
	}
}

// TestServePipeAtHangup: what became a pipe is refused; operators see it, and the end is in
// order.
func TestServePipeAtHangup(t *testing.T) {
	file, keys := write(t, "orders.yaml", string(deskLimits(5))), write(t, "keys.txt", "alice-s3cret\n")
	s := serve(t, nil, "--upstream", upstream(t, noContent), "--keys", keys, "--rls", "127.0.0.1:0", "--rls-config", file)
	for _, path := range []string{file, keys} {
		require.NoError(t, os.Remove(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
	}
	s.hangup <- struct{}{}
	for _, source := range []string{"rls", "keys"} {
		soon(t, source, func() bool {
			fault, _, _ := s.source(t, source)
			return strings.Contains(fault, "is not a regular file")
		})
	}
	require.Equal(t, 204, s.send(t, "GET", "/", "", "X-API-Key", "alice-s3cret").StatusCode)
	s.client.CloseIdleConnections()
	s.stop()
	require.Equal(t, exitOK, <-s.status)
}

// TestBeginEnds: a process that is told to end while a file does not answer ends, and one
// whose reading ends by itself tells what came of it.
func TestBeginEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	running, err := begin(ctx, time.Hour, func() (*service.Running, error) { return &service.Running{}, nil })
	require.NoError(t, err)
	require.NotNil(t, running)
	hang := make(chan struct{})
	defer close(hang)
	reading := make(chan struct{})
	go func() { <-reading; stop() }()
	_, err = begin(ctx, time.Millisecond, func() (*service.Running, error) {
		close(reading)
		<-hang
		return nil, nil
	})
	require.ErrorIs(t, err, errBegin)
	cut := errors.New("cut off")
	_, err = begin(ctx, time.Hour, func() (*service.Running, error) { return nil, cut })
	require.ErrorIs(t, err, cut)
}
