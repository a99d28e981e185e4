package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files again")

// result is what one command line did.
type result struct {
	status         int
	stdout, stderr string
}

// command runs one without a process.
func command(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	status := run(context.Background(), args, &world{
		stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, now: time.Now, sleep: sleep,
	})
	return result{status, stdout.String(), stderr.String()}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

var timing = regexp.MustCompile(`^\d+ decisions in \S+: \d+ ns each, \d+ in the median batch \(on this machine, in this run\)\n$`)

// TestGolden: the bundled recordings give what they gave before, to the byte,
// and the one line that depends on the machine is not among it.
func TestGolden(t *testing.T) {
	for name, args := range map[string][]string{
		"itch.txt":  {"--policies", "testdata/trading.json", "testdata/itch-orders.csv"},
		"itch.json": {"--json", "--policies", "testdata/trading.json", "testdata/itch-orders.csv"},
		"itch.html": {"--policies", "testdata/trading.json", "testdata/itch-orders.csv"},
		"venue.txt": {"--venue", "hkex-ocgc", "--guard", "10ms", "testdata/itch-orders.csv"},
		"web.txt":   {"--set", "default=1/s burst=4", "--top", "3", "testdata/web-2015.csv"},
	} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "report.html")
			r := command(t, "", append([]string{"replay", "--html", page}, args...)...)
			require.Equal(t, exitOK, r.status, r.stderr)
			require.Regexp(t, timing, r.stderr)
			got := r.stdout
			if filepath.Ext(name) == ".html" {
				b, err := os.ReadFile(page)
				require.NoError(t, err)
				got = string(b)
			}
			golden := filepath.Join("testdata", "golden", name)
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(golden), 0o755))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// TestTradingPolicy holds the shipped policy to its promise: it denies some new
// orders, a few percent, and no cancel ever.
func TestTradingPolicy(t *testing.T) {
	r := command(t, "", "replay", "--json", "--policies", "testdata/trading.json", "testdata/itch-orders.csv")
	require.Equal(t, exitOK, r.status)
	var report struct {
		Total     struct{ Requests, Denied int64 }
		Endpoints []struct {
			Endpoint string
			Rate     float64 `json:"deny_rate"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.EqualValues(t, 6802, report.Total.Requests)
	require.Len(t, report.Endpoints, 3)
	for _, e := range report.Endpoints {
		if e.Endpoint == "order.new" {
			require.Greater(t, e.Rate, 0.01)
			require.Less(t, e.Rate, 0.10)
		} else {
			require.Zero(t, e.Rate, e.Endpoint)
		}
	}
}

// TestDeterministic: the same input gives the same bytes, whatever the way it
// comes in and however fast it is replayed.
func TestDeterministic(t *testing.T) {
	text, err := os.ReadFile("testdata/itch-orders.csv")
	require.NoError(t, err)
	var outputs []string
	for range 3 {
		for _, format := range []string{"auto", "csv"} {
			r := command(t, string(text), "replay", "--json", "--format", format, "--policies", "testdata/trading.json", "-")
			require.Equal(t, exitOK, r.status)
			outputs = append(outputs, r.stdout)
		}
	}
	for _, o := range outputs {
		require.Equal(t, outputs[0], o)
	}
}

func TestFormats(t *testing.T) {
	log := write(t, "access.log", `192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /blog/a HTTP/1.1" 200 5 "-" "x"
192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /blog/b HTTP/1.1" 200 5 "-" "x"
`)
	r := command(t, "", "replay", "--set", "GET /blog=1/s", log)
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "(combined): 2 lines, 2 requests")
	require.Regexp(t, `(?m)^GET /blog +2 +1 +1 +50\.00% +2 +1 by 192\.0\.2\.7$`, r.stdout)

	messages := "34200.1,1,7,1,1,1\n34200.1,3,7,1,1,1\n34200.2,4,8,1,1,1\n"
	r = command(t, messages, "replay", "--lobster-key", "desk-7", "--set", "order.new=deny", "-")
	require.Equal(t, exitOK, r.status, r.stderr)
	require.Contains(t, r.stdout, "stdin (lobster): 3 lines, 2 requests, 1 no request\n")
	require.Regexp(t, `(?m)^order\.new +1 +0 +1 +100\.00% +1 +1 by desk-7$`, r.stdout)
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"replay", "--help"}, {"serve", "--help"}, {"doctor", "--help"}, {"version", "--help"}} {
		r := command(t, "", args...)
		require.Equal(t, exitOK, r.status)
		require.Empty(t, r.stderr)
		require.Contains(t, r.stdout, "Examples:")
		require.Contains(t, r.stdout, "  tickgate ")
	}
}

func TestVersion(t *testing.T) {
	r := command(t, "", "version")
	require.Equal(t, exitOK, r.status)
	require.Regexp(t, `^tickgate \S+.* go1\.\S+ \w+/\w+\n$`, r.stdout)
}

func TestDoctor(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for real")
	}
	r := command(t, "", "doctor", "--json", "--measure", "20ms")
	require.Equal(t, exitOK, r.status, r.stderr)
	var report struct {
		Clock struct {
			Source string
			Read   float64 `json:"read_ns"`
		}
		Pages struct{ Keys int }
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.Contains(t, []string{"tsc", "runtime"}, report.Clock.Source)
	require.Greater(t, report.Clock.Read, 0.0)
	require.Equal(t, 1<<20, report.Pages.Keys)
}
