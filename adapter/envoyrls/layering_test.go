package envoyrls_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the limiter an adapter uses the gate and what its configuration is made of, and
// nothing below it or beside it.
func TestLayeringImports(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	require.NoError(t, err)
	imports := strings.Fields(string(out))
	require.Contains(t, imports, "github.com/tickgate/tickgate")
	for _, path := range imports {
		if below, ours := strings.CutPrefix(path, "github.com/tickgate/tickgate/"); ours {
			require.Contains(t, []string{"clock", "policy"}, below)
		}
		require.NotContains(t, path, "testify")
	}
}
