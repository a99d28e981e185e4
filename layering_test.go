package tickgate_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/tickgate/tickgate"

// mayImport says which packages of the module each one may import, directly or
// not: imports point down only.
var mayImport = map[string][]string{
	"":                          {"clock", "bucket", "policy", "shard", "internal/pad", "internal/invariants"},
	"clock":                     {"internal/pad", "internal/invariants"},
	"bucket":                    {"clock", "internal/pad", "internal/invariants"},
	"shard":                     {"clock", "bucket", "internal/pad", "internal/invariants"},
	"policy":                    {},
	"policy/venue":              {"policy"},
	"idem":                      {"clock", "internal/pad", "internal/invariants"},
	"idem/idemtest":             {"idem", "clock", "internal/pad", "internal/invariants"},
	"adapter/httplimit":         {"", "clock", "bucket", "policy", "shard", "idem", "internal/pad", "internal/invariants"},
	"ratecompat":                {"clock", "bucket", "internal/pad", "internal/invariants"},
	"internal/pad":              {},
	"internal/invariants":       {},
	"internal/refmodel":         {"clock", "policy", "internal/pad", "internal/invariants"},
	"internal/venuesim":         {"policy"},
	"internal/redisserver":      {},
	"examples/memoryapi":        {"", "clock", "bucket", "policy", "shard", "idem", "adapter/httplimit", "examples/memoryapi/memory", "internal/pad", "internal/invariants"},
	"examples/memoryapi/memory": {"", "clock", "bucket", "policy", "shard", "idem", "adapter/httplimit", "internal/pad", "internal/invariants"},
	"examples/ordergateway":     {"", "clock", "bucket", "policy", "policy/venue", "shard", "internal/pad", "internal/invariants", "internal/venuesim"},
}

// listed is what of a package `go list` tells.
type listed struct {
	ImportPath string
	Standard   bool
	CgoFiles   []string
	Deps       []string
}

// golist runs `go list -deps -json` on packages of this module.
func golist(t *testing.T, pkgs ...string) (all []listed) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Standard,CgoFiles,Deps"}, pkgs...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		require.NoError(t, d.Decode(&p))
		all = append(all, p)
	}
	return all
}

func TestLayeringImportsPointDown(t *testing.T) {
	standard := map[string]bool{}
	all := golist(t, "./...")
	for _, p := range all {
		standard[p.ImportPath] = p.Standard
	}
	for _, p := range all {
		name, ours := ownPackage(p.ImportPath)
		if !ours {
			continue
		}
		may, known := mayImport[name]
		require.True(t, known, "say in this test what %q may import", p.ImportPath)
		for _, d := range p.Deps {
			if own, ours := ownPackage(d); ours {
				require.Contains(t, may, own, "%s imports %s", p.ImportPath, d)
			} else if strings.HasPrefix(name, "policy") || strings.HasPrefix(name, "internal/") {
				require.True(t, standard[d], "%s imports %s: only the standard library is allowed", p.ImportPath, d)
			}
		}
		require.Empty(t, p.CgoFiles, p.ImportPath)
	}
}

func ownPackage(path string) (name string, ours bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// What a program that uses the gate is linked with beside the standard library.
func TestLayeringDependencies(t *testing.T) {
	for _, p := range golist(t, ".") {
		if _, ours := ownPackage(p.ImportPath); ours || p.Standard {
			continue
		}
		allowed := false
		for _, prefix := range []string{"github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys/"} {
			allowed = allowed || strings.HasPrefix(p.ImportPath, prefix)
		}
		require.True(t, allowed, "the gate pulls in %s", p.ImportPath)
		require.Empty(t, p.CgoFiles)
	}
}

func TestLayeringFourRequirements(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	out, err := exec.Command("go", "mod", "edit", "-json").Output()
	require.NoError(t, err)
	var mod struct {
		Module  struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace, Tool, Exclude []any
	}
	require.NoError(t, json.Unmarshal(out, &mod))
	require.Equal(t, module, mod.Module.Path)
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	require.ElementsMatch(t, []string{
		"github.com/cespare/xxhash/v2", "github.com/stretchr/testify", "go.uber.org/atomic", "golang.org/x/sys",
	}, direct)
	require.Empty(t, mod.Replace)
	require.Empty(t, mod.Tool)
}

// No cgo, and no way into the runtime that is not its interface.
func TestLayeringNoCgoNoLinkname(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir // another module
			}
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		require.NoError(t, err)
		files++
		for _, no := range []string{"//go:link" + "name", "import \"C\"", "\t\"C\"\n"} {
			require.NotContains(t, string(src), no, path)
		}
		return nil
	}))
	require.Greater(t, files, 50)
}

// modules are the adapters that are modules of their own, and what of the limiter they
// import: the gate and what a configuration is made of, nothing below and nothing beside.
var modules = map[string][]string{
	"adapter/envoyrls":  {"", "/clock", "/policy"},
	"adapter/grpclimit": {""},
	"adapter/pgconfig":  {"", "/adapter/pgconfig/policyfile", "/policy"},
	"adapter/promlimit": {"", "/clock", "/idem", "/policy"},
}

// A module that is in neither list is never built or tested.
func TestEveryModuleIsTested(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Skip("the module alone, without the repository")
	}
	work, err := os.ReadFile("go.work")
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(makefile), "\nMODULES   := ")
	require.True(t, ok)
	list, _, _ = strings.Cut(list, "\n")
	var found []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" {
			found = append(found, filepath.ToSlash(filepath.Dir(path)))
			if dir := filepath.ToSlash(filepath.Dir(path)); dir != "." {
				require.Contains(t, string(work), "./"+dir+"\n", "go.work")
			}
		}
		return err
	}))
	require.ElementsMatch(t, found, strings.Fields(list), "MODULES in the Makefile")
}

func TestLayeringAdapters(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	for dir, want := range modules {
		if _, err := os.Stat(dir); err != nil {
			continue // this module alone, without the repository
		}
		cmd := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./...")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		require.NoError(t, err, dir)
		ours := map[string]bool{}
		for _, path := range strings.Fields(string(out)) {
			require.NotContains(t, path, "testify", dir)
			if rest, ok := strings.CutPrefix(path, module); ok {
				ours[rest] = true
			}
		}
		require.ElementsMatch(t, want, slices.Collect(maps.Keys(ours)), dir)
	}
}
