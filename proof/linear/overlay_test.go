package linear

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edit is a place in a file of the root module: text that is in it once, and what
// stands there in the build in which bugs are seeded.
type edit struct{ file, text, to string }

// seededBuild builds these tests with edits in the code that they test. The files stay
// as they are: the compiler reads the changed copies in their place.
func seededBuild(t *testing.T, edits []edit) (program string) {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	text := map[string]string{}
	for _, e := range edits {
		if text[e.file] == "" {
			src, err := os.ReadFile(filepath.Join(root, e.file))
			require.NoError(t, err)
			text[e.file] = string(src)
		}
		require.Equal(t, 1, strings.Count(text[e.file], e.text),
			"%s has changed where a bug is seeded; look whether it is still the same bug:\n%s", e.file, e.text)
		text[e.file] = strings.Replace(text[e.file], e.text, e.to, 1)
	}
	replace := map[string]string{}
	add := func(name, src string) {
		copied := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(copied, []byte(src), 0o600))
		replace[filepath.Join(root, name)] = copied
	}
	for name, src := range text {
		add(name, src)
	}
	for _, pkg := range []string{"bucket", "shard"} {
		add(pkg+"/seeded.go", strings.Replace(seedFile, "package seeded", "package "+pkg, 1))
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	program = filepath.Join(dir, "linear.test")
	out, err := exec.Command("go", "test", "-c", "-overlay="+overlay, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// seedVar names the bug that a seeded build has; none is the code as it is, with stalls.
const seedVar = "TICKGATE_SEEDED_BUG"

// seedFile is added to the packages in which bugs are seeded.
const seedFile = `package seeded

import (
	"math/rand/v2"
	"os"
	"runtime"
)

var seeded = os.Getenv("` + seedVar + `")

// has reports whether this is the bug to have.
func has(bug string) bool { return seeded == bug }

// stall lets others go on between two steps, now and then for long.
func stall() {
	switch rand.Uint32N(16) {
	case 0:
		for range 20 {
			runtime.Gosched()
		}
	case 1, 2:
		runtime.Gosched()
	}
}
`
