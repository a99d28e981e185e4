package ratecompat

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that uses every method is built with one line changed, and prints the
// same.
func TestProgramWithOneLineChanged(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	main, err := filepath.Abs("testdata/program/main.go")
	require.NoError(t, err)
	src, err := os.ReadFile(main)
	require.NoError(t, err)
	before, after := `rate "golang.org/x/time/rate"`, `rate "github.com/tickgate/tickgate/ratecompat"`
	require.Equal(t, 1, strings.Count(string(src), before))

	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(src), before, after, 1)), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{main: changed}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))

	run := func(flags ...string) string {
		cmd := exec.Command("go", append(append([]string{"run"}, flags...), "./testdata/program")...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	want := run()
	require.Contains(t, want, "exceeds limiter's burst")
	require.Equal(t, want, run("-overlay", overlay))
}
