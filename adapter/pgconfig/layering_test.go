package pgconfig_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the limiter an adapter uses the gate and its policies, and nothing below them or
// beside them.
func TestLayeringImports(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...").Output()
	require.NoError(t, err)
	const module = "github.com/tickgate/tickgate"
	own := map[string]bool{}
	for _, path := range strings.Fields(string(out)) {
		require.NotContains(t, path, "testify")
		if rest, ok := strings.CutPrefix(path, module); ok {
			own[rest] = true
		}
	}
	require.Equal(t, map[string]bool{"": true, "/policy": true, "/adapter/pgconfig/policyfile": true}, own)
}
