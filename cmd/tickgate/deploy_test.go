package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

const unitFile = "../../deploy/tickgate.service"

// settingsOf returns the settings of a section of a unit, those that are given several
// times as lines.
func settingsOf(t *testing.T, section string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	settings, in := map[string]string{}, ""
	for line := range strings.SplitSeq(string(text), "\n") {
		switch name, value, ok := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "["):
			in = strings.Trim(line, "[]")
		case in == section && ok && !strings.HasPrefix(line, "#"):
			settings[name] = strings.TrimPrefix(settings[name]+"\n"+value, "\n")
		}
	}
	return settings
}

// A database that is away for some minutes, or slower at boot, is waited for.
func TestUnitIsNotGivenUp(t *testing.T) {
	unit, service := settingsOf(t, "Unit"), settingsOf(t, "Service")
	require.Equal(t, "0", unit["StartLimitIntervalSec"])
	require.Equal(t, "on-failure", service["Restart"])
	require.Equal(t, "5", service["RestartSec"])
	for _, other := range []string{"network-online.target", "postgresql.service", "redis-server.service"} {
		require.Contains(t, strings.Fields(unit["After"]), other)
		require.NotContains(t, unit["Requires"]+unit["BindsTo"], other, "the order alone")
	}
}

// What the unit and the image run is a command line that there is.
func TestDeployedCommands(t *testing.T) {
	service := settingsOf(t, "Service")
	image, err := os.ReadFile("../../deploy/Dockerfile")
	require.NoError(t, err)
	commands := []string{service["ExecStartPre"], service["ExecStart"]}
	for line := range strings.SplitSeq(string(image), "\n") {
		if text, ok := strings.CutPrefix(line, "#\tserve "); ok {
			commands = append(commands, "tickgate serve "+text)
		}
	}
	require.Len(t, commands, 3)
	w := &world{stderr: io.Discard}
	w.complete()
	for _, text := range commands {
		parser, err := kong.New(&cli{}, kong.Bind(w))
		require.NoError(t, err)
		_, err = parser.Parse(strings.Fields(text)[1:])
		require.NoError(t, err, text)
	}
}

// systemd itself has nothing to say against the unit, but that the program is not there.
func TestUnitByItsOwnTool(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze: install systemd to test the unit")
	}
	text, err := os.ReadFile(unitFile)
	require.NoError(t, err)
	unit := filepath.Join(t.TempDir(), "tickgate.service")
	own := strings.ReplaceAll(string(text), "/usr/local/bin/tickgate", "/bin/true")
	own = strings.ReplaceAll(own, "\n#LoadCredential", "\nLoadCredential")
	own = strings.ReplaceAll(own, "\n#Environment", "\nEnvironment")
	require.NoError(t, os.WriteFile(unit, []byte(own), 0o644))
	said, err := exec.Command(tool, "verify", "--man=no", unit).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
}
