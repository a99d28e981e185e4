//go:build unix

package policyfile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A shell makes a pipe of <(command).
func TestLoadFromPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("- {endpoint: a, limits: [1/s]}\n"), 0o600) }()
	set, err := Load(path)
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.Equal(t, "a", set[0].Endpoint)
}
