package tickgate_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The program on the README's first screen is the package's Example, which is
// compiled and run.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, shown, ok := strings.Cut(string(readme), "```go\n")
	require.True(t, ok)
	shown, _, ok = strings.Cut(shown, "```")
	require.True(t, ok)
	tests, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, run, ok := strings.Cut(string(tests), "func Example() {\n")
	require.True(t, ok)
	run, _, ok = strings.Cut(run, "\n}\n")
	require.True(t, ok)
	require.Equal(t, shown, strings.ReplaceAll("\n"+run, "\n\t", "\n")[1:]+"\n")
}
