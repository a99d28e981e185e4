//go:build unix

package policyfile

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Opening a pipe that nobody writes to would block for ever.
func TestPipeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Load(path)
	require.ErrorContains(t, err, "not a regular file")
}
