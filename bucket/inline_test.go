package bucket

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a decision runs through is inlined into its caller: a call would cost as
// much as the arithmetic. A change that makes one of these too long shows here.
func TestHotPathInlines(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to ask the compiler with")
	}
	out, err := exec.Command(goTool, "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, string(out))
	said := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		if _, what, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			said[what] = true
		}
	}
	for _, f := range []string{
		"(*Limit).Take", "(*Limit).IsFull", "(*Limit).Full", "(*Limit).Fits", "(*Limit).pos",
		"(*Limit).Parity", "Parity", "used", "OriginOf",
	} {
		require.True(t, said["can inline "+f], "%s is not inlined", f)
	}
}
