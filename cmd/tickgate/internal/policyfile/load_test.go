package policyfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// base is a set with all that an assignment leaves as it is.
func base(t *testing.T) policy.Set {
	t.Helper()
	set, err := policy.ParsePolicies(strings.NewReader(
		`[{"endpoint": "order.new", "limits": ["4/s burst=3 name=burst"], "credit": 5, "shadow": true}]`))
	require.NoError(t, err)
	return set
}

// What the text may be is tested where it is read.
func TestLoad(t *testing.T) {
	set, err := Load(write(t, "p.yaml", "- endpoint: a\n  limits: [1/s]\n"))
	require.NoError(t, err)
	require.Equal(t, "1/s", set[0].Limits[0].String())

	path := write(t, "p.yaml", "- endpoint: a\n  limits: [0/s]\n- endpoint: b\n  limits: [abc]\n")
	_, err = Load(path)
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 2, "every fault")
	for _, line := range lines {
		require.True(t, strings.HasPrefix(line, path+": line "), line)
	}
	_, err = Load(filepath.Join(t.TempDir(), "missing.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Load(write(t, "p.json", strings.Repeat(" ", policy.MaxBytes+1)))
	require.ErrorContains(t, err, "longer than")
}

func TestRead(t *testing.T) {
	set, err := Read(base(t), "", []string{"a=1/s"})
	require.NoError(t, err)
	require.Len(t, set, 2)
	set, err = Read(base(t), write(t, "p.yaml", "- {endpoint: b, limits: [2/s]}\n"), []string{"a=1/s"})
	require.NoError(t, err)
	require.Equal(t, []string{"b", "a"}, []string{set[0].Endpoint, set[1].Endpoint}, "a file takes the place of what is built in")
	_, err = Read(base(t), write(t, "p.yaml", "- {endpoint: b, limits: [0/s]}\n"), []string{"a=0/s", "c"})
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 3, "faults of both")
}

func TestOverride(t *testing.T) {
	below := base(t)
	set, err := Override(below, []string{"order.new=100/s burst=20", "GET /a=1/s", "order.new=6000/m"})
	require.NoError(t, err)

	p, ok := set.Lookup("order.new")
	require.True(t, ok)
	require.Len(t, p.Limits, 2, "all of the new ones, none of the old")
	require.Equal(t, "100/s burst=20", p.Limits[0].String())
	require.Equal(t, "6000/m", p.Limits[1].String())
	require.EqualValues(t, 5, p.Credit, "stays")
	require.True(t, p.Shadow, "stays")
	_, ok = set.Lookup("GET /a")
	require.True(t, ok)

	old, _ := below.Lookup("order.new")
	require.Equal(t, "4/s burst=3 name=burst", old.Limits[0].String(), "the set below is left alone")

	for _, bad := range []string{"order.new=0/s", "order.new=-1/s", "order.new=1e30/s", "order.new=abc", "order.new", "=1/s", ""} {
		_, err := Override(below, []string{bad})
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "\n", bad)
	}
	_, err = Override(below, []string{"a=1/s", "a=1/s"})
	require.ErrorContains(t, err, "--set: ", "the same limit twice")
	_, err = Override(nil, []string{"a=0/s", "b"})
	require.Error(t, err)
	require.Len(t, strings.Split(err.Error(), "\n"), 2)
}
