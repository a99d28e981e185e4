package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// The profile for the compiler has the paths and the replay, and nothing of this machine.
func TestPGO(t *testing.T) {
	if testing.Short() {
		t.Skip("builds cmd/tickgate")
	}
	name := filepath.Join(t.TempDir(), "default.pgo")
	var stderr strings.Builder
	require.Zero(t, run([]string{"-pgo", name, "-each", "40ms", "-only", "hot/rate"}, io.Discard, &stderr), stderr.String())
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	p, err := profile.ParseData(raw)
	require.NoError(t, err)
	var all []string
	for _, f := range p.Function {
		all = append(all, f.Name)
		require.Empty(t, f.Filename)
	}
	text := strings.Join(all, "\n")
	for _, name := range []string{"cmd/tickgate/internal/replay", "tickgate.(*Gate).Allow", "tickgate.Handle.AllowAt"} {
		require.Contains(t, text, name)
	}
	// The compiler's own reader takes it.
	out, err := exec.Command("go", "tool", "preprofile", "-i", name, "-o", name+".pre").CombinedOutput()
	require.NoError(t, err, "%s", out)
	pre, err := os.ReadFile(name + ".pre")
	require.NoError(t, err)
	require.Contains(t, string(pre), "tickgate.Handle.AllowAt")
}
