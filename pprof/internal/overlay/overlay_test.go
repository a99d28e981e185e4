package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlay(t *testing.T) {
	src := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(src, name), []byte(text), 0o600))
	}
	write("go.mod", "module m\n\ngo 1.25.0\n")
	write("main.go", "package main\n\ntype T struct{}\n\nfunc (t *T) say() { print(\"said \") }\n\nfunc main() {\n\t(&T{}).say()\n}\n")
	o := New(t.TempDir())
	require.NoError(t, o.Add(src, "more.go", "package main\n\nfunc more(s string) { print(s) }\n"))
	require.NoError(t, o.Begin(src, "main", `more("began ")`))
	require.NoError(t, o.Begin(src, "T.say", `more("method ")`))
	require.ErrorContains(t, o.Begin(src, "T.gone", "x()"), "no function T.gone in the package")
	flag, err := o.Flag()
	require.NoError(t, err)
	for args, want := range map[string]string{flag: "began method said ", "-v=false": "said "} {
		c := exec.Command("go", "run", args, ".")
		c.Dir, c.Env = src, append(os.Environ(), "GOWORK=off")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want, string(out))
	}
}
