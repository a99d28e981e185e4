package promlimit_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the limiter an adapter uses the gate, and nothing below it or beside it.
func TestLayeringImports(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	require.NoError(t, err)
	imports := strings.Fields(string(out))
	require.Contains(t, imports, "github.com/tickgate/tickgate")
	for _, path := range imports {
		for _, below := range []string{"/shard", "/bucket", "/adapter/", "/redisync"} {
			require.NotContains(t, path, "tickgate/tickgate"+below)
		}
		require.NotContains(t, path, "testify")
	}
}
