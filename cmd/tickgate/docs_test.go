package main

import (
	"os"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestServiceGuideNamesEveryFlag: docs/service.md lists what serve takes.
func TestServiceGuideNamesEveryFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/service.md")
	require.NoError(t, err)
	parser, err := kong.New(&cli{})
	require.NoError(t, err)
	for _, command := range parser.Model.Children {
		if command.Name != "serve" {
			continue
		}
		for _, flag := range command.Flags {
			require.Contains(t, string(text), "`"+flag.Name+"`", "--%s", flag.Name)
		}
		return
	}
	require.Fail(t, "no serve")
}
