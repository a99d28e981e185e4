package linear

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bugs put into the real code must be found by these tests, each by the one that is
// named. Without a bug the same build, which lets others go on between the steps of
// calls, must pass them all.
func TestSeededBugsAreCaught(t *testing.T) {
	if os.Getenv(seedVar) != "" {
		t.Skip("this is the seeded build")
	}
	if raceEnabled {
		t.Skip("the seeded build has no race detector: stalls do its work")
	}
	edits := stalls
	for _, s := range seeds {
		edits = append(edits, s.edits...)
	}
	program := seededBuild(t, edits)
	run := func(bug, test string, flags ...string) (out string, ok bool) {
		c := exec.Command(program, append(flags, "-test.run=^("+test+")$")...)
		c.Env = append(os.Environ(), seedVar+"="+bug)
		text, err := c.CombinedOutput()
		return string(text), err == nil
	}
	out, ok := run("none", "Test.*", "-test.short")
	require.True(t, ok, "the build with stalls and no bug:\n%s", out)
	for _, s := range seeds {
		t.Run(s.bug, func(t *testing.T) {
			if s.rare && testing.Short() {
				t.Skip("it takes some seconds")
			}
			// The rarest interleavings come up once in some thousand histories.
			out, ok := run(s.bug, s.caught, "-test.failfast", "-test.count=60")
			require.False(t, ok, "not caught:\n%s", out)
			require.Contains(t, out, "--- FAIL: "+s.caught, "it failed of something else")
			require.True(t, strings.Contains(out, "not linearizable") || strings.Contains(out, "Illegal") || strings.Contains(out, "left a trace"),
				"it failed of something else:\n%s", out)
		})
	}
}
