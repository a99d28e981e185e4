//go:build unix

package envoyrls_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/envoyrls"
)

// Opening a pipe that nobody writes to would block for ever. Links are followed: what
// Kubernetes mounts is links to a folder that is exchanged as a whole.
func TestReadTakesRegularFilesOnly(t *testing.T) {
	folder, link := t.TempDir(), os.Symlink
	pipe := filepath.Join(folder, "pipe.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, folder, "/dev/null"} {
		_, err := envoyrls.Read(path)
		require.ErrorContains(t, err, "is not a regular file", path)
	}
	require.NoError(t, os.Remove(pipe))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "..2026"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "..2026", "a.yaml"), []byte(perUser), 0o600))
	require.NoError(t, link("..2026", filepath.Join(folder, "..data")))
	require.NoError(t, link(filepath.Join("..data", "a.yaml"), filepath.Join(folder, "a.yaml")))
	files, err := envoyrls.Read(folder)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, perUser, string(files[0].Text))
}
