package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// T is what of testing.TB this package uses.
type T interface {
	Helper()
	Cleanup(func())
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// programs are the paths of what a server needs.
type programs struct{ initdb, postgres string }

// find returns the programs of one folder; false if there is none with both.
func find() (programs, bool) {
	if own := os.Getenv("TICKGATE_POSTGRES_BIN"); own != "" {
		return in(own)
	}
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	best, newest := programs{}, -1
	for _, folder := range folders {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if p, ok := in(folder); ok && err == nil && version > newest {
			best, newest = p, version
		}
	}
	if newest >= 0 {
		return best, true
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return in(filepath.Dir(path))
		}
	}
	return programs{}, false
}

func in(folder string) (programs, bool) {
	p := programs{filepath.Join(folder, "initdb"), filepath.Join(folder, "postgres")}
	for _, path := range []string{p.initdb, p.postgres} {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return programs{}, false
		}
	}
	return p, true
}
