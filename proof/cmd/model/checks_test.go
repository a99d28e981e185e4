package main

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/proof/model"
)

func everyCheck() []check { return slices.Concat(checks, ringChecks, redisyncChecks) }

// A bug that is seeded under a name that the model does not have would be no bug, and a
// model that nothing is checked in would hold of itself.
func TestChecksAreOfTheModels(t *testing.T) {
	text := make(map[string]string)
	var files strings.Builder
	names, err := fs.Glob(model.Files, "*.pml")
	require.NoError(t, err)
	for _, name := range names {
		b, err := fs.ReadFile(model.Files, name)
		require.NoError(t, err)
		text[name] = string(b)
		files.Write(b)
	}
	seen := make(map[string]bool)
	for _, c := range everyCheck() {
		require.Contains(t, text, c.file, c.name)
		require.False(t, seen[c.name+c.file], "%s twice in %s", c.name, c.file)
		seen[c.name+c.file] = true
		if c.bug {
			require.Contains(t, files.String(), c.macro(), c.name)
		}
		for _, d := range strings.Fields(c.defines) {
			d, _, _ = strings.Cut(d, "=")
			require.Contains(t, files.String(), d, c.name)
		}
	}
	for _, name := range names {
		if unchecked(name, everyCheck()) != "" {
			require.Contains(t, files.String(), `#include "`+name+`"`, "nothing checks it")
		}
	}
}

func TestUncheckedSaysWhatToName(t *testing.T) {
	require.Empty(t, unchecked("slot.pml", everyCheck()))
	require.Contains(t, unchecked("taker.pml", everyCheck()), "name the model that includes it, one of slot.pml")
	require.Contains(t, unchecked("tacker.pml", everyCheck()), "there is no model tacker.pml")
}

func TestLookedRefusesWhatItCannotCompare(t *testing.T) {
	require.Equal(t, 2, look("Table.takeOne", nil))
	t.Chdir("../..") // the folder proof
	require.Equal(t, 2, look("Table.takesOne", []string{"taker.pml"}))
	require.Equal(t, 2, look("Table.takeOne", []string{"tacker.pml"}))
}
