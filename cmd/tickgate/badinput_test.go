package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const oneRequest = "5,a,x\n"

// refused runs a command line that can do nothing: no result, one line that
// says why, and a status that is not 0.
func refused(t *testing.T, status int, reason, stdin string, args ...string) {
	t.Helper()
	r := command(t, stdin, args...)
	require.Equal(t, status, r.status, r.stderr)
	require.Empty(t, r.stdout)
	require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
	require.True(t, strings.HasPrefix(r.stderr, "tickgate: "), r.stderr)
	require.Contains(t, r.stderr, reason)
}

func TestBadUsage(t *testing.T) {
	file := write(t, "a.csv", oneRequest)
	for _, c := range []struct {
		reason string
		args   []string
	}{
		{"unknown flag --fast", []string{"replay", "--fast", file}},
		{"tickgate replay --help lists", []string{"replay", "--fast", file}},
		{"unexpected argument reply", []string{"reply"}},
		{`expected one of "replay", "serve", "check-config"`, nil},
		{`expected "<file> ..."`, []string{"replay"}},
		{"--format", []string{"replay", "--format", "xml", file}},
		{"--speed", []string{"replay", "--speed", "warp", file}},
		{"--max-keys 0: must be 1 to", []string{"replay", "--max-keys", "0", file}},
		{"--max-keys", []string{"replay", "--max-keys", "many", file}},
		{"--top -1: must be 0 to", []string{"replay", "--top=-1", file}},
		{"--lobster-key: key is 300 bytes long", []string{"replay", "--lobster-key", strings.Repeat("k", 300), file}},
		{"given more than once", []string{"replay", "-", "-"}},
		{"--policies: is empty", []string{"replay", "--policies", "", file}},
		{"--measure must be 1ms to 1m", []string{"doctor", "--measure", "1h"}},
		{"unexpected argument", []string{"version", "x"}},
	} {
		refused(t, exitUsage, c.reason, "", c.args...)
	}
}

func TestBadFiles(t *testing.T) {
	good := write(t, "good.csv", oneRequest)
	missing := filepath.Join(t.TempDir(), "missing.csv")
	refused(t, exitFailed, "missing.csv: no such file", "", "replay", missing)
	refused(t, exitFailed, "missing.csv: no such file", "", "replay", good, missing)
	refused(t, exitFailed, "is a directory", "", "replay", t.TempDir())
	binary := write(t, "binary", "\x7fELF\x00\x01")
	refused(t, exitFailed, "is a binary file", "", "replay", binary)
	refused(t, exitFailed, "is a binary file", "", "replay", "--format", "csv", good, binary)
	refused(t, exitFailed, "is empty", "", "replay", write(t, "empty.csv", ""))
	refused(t, exitFailed, "stdin: is empty", "", "replay", "-")
	refused(t, exitFailed, "is in no known format", "", "replay", write(t, "prose", "hello\n"))
	refused(t, exitFailed, "nothing was replayed", "ts_ns,apikey,endpoint,cost\n", "replay", "-")
	refused(t, exitFailed, "--html", "", "replay", "--html", filepath.Join(missing, "r.html"), good)
	refused(t, exitFailed, "is a directory", "", "replay", "--html", t.TempDir(), good)
	refused(t, exitFailed, "missing.csv: no such file", "", "replay", "--policies", missing, good)
}

func TestBadPolicies(t *testing.T) {
	file := write(t, "a.csv", oneRequest)
	for _, limit := range []string{"0/s", "-1/s", "1e30/s", "abc"} {
		refused(t, exitFailed, "--set: x = ", "", "replay", "--set", "x="+limit, file)
		path := write(t, "p.json", `[{"endpoint": "x", "limits": ["`+limit+`"]}]`)
		refused(t, exitFailed, "p.json: line 1", "", "replay", "--policies", path, file)
	}
	for _, rate := range []string{"0", "-1", "1e30", `"abc"`} {
		path := write(t, "p.json", `[{"endpoint": "x", "limits": [{"tokens": `+rate+`, "per": "s"}]}]`)
		refused(t, exitFailed, "p.json: line 1", "", "replay", "--policies", path, file)
	}
	twice := `[{"endpoint": "x", "limits": ["1/s"]},
{"endpoint": "x", "limits": ["2/s"]}]`
	refused(t, exitFailed, "p.json: line 2", "", "replay", "--policies", write(t, "p.json", twice), file)
	refused(t, exitFailed, "p.yaml: line 2", "", "replay", "--policies", write(t, "p.yaml", twice), file)
	refused(t, exitFailed, "p.json: ", "", "replay", "--policies", write(t, "p.json", "{"), file)
	refused(t, exitFailed, "p.json: ", "", "replay", "--policies", write(t, "p.json", ""), file)
}

// TestBadLines: counted, named, and the rest is replayed.
func TestBadLines(t *testing.T) {
	text := "5,a,x\n4,a,x\n6,a,x,-1\n7," + strings.Repeat("k", 300) + ",x\nnonsense\n8,a,x\n"
	r := command(t, text, "replay", "-")
	require.Equal(t, exitOK, r.status)
	require.Contains(t, r.stdout, "stdin (csv): 6 lines, 3 requests, 3 malformed, 1 backwards in time\n")
	require.Contains(t, r.stderr, "tickgate: stdin:3: cost -1 is negative\n")
	require.Contains(t, r.stderr, "tickgate: stdin:4: apikey is 300 bytes long, at most 256 are allowed\n")
	require.Contains(t, r.stderr, "tickgate: stdin:5: 1 fields, expected ")

	refused(t, exitFailed, "stdin:3: cost -1 is negative", text, "replay", "--strict", "-")

	// Nothing but bad lines: each is named, and the status says that nothing was done.
	r = command(t, "5,a,x,-1\n6,a,x,-1\n", "replay", "--format", "csv", "-")
	require.Equal(t, exitFailed, r.status)
	require.Empty(t, r.stdout)
	require.Equal(t, "tickgate: stdin:1: cost -1 is negative\ntickgate: stdin:2: cost -1 is negative\n"+
		"tickgate: nothing was replayed: no input holds a valid request\n", r.stderr)
}

// TestManyBadLines: the first are named, the rest is counted.
func TestManyBadLines(t *testing.T) {
	r := command(t, oneRequest+strings.Repeat("bad\n", 1000), "replay", "-")
	require.Equal(t, exitOK, r.status)
	require.Contains(t, r.stdout, "1,000 malformed")
	require.Equal(t, maxFaults, strings.Count(r.stderr, "stdin:"))
	require.Contains(t, r.stderr, "tickgate: and 980 more\n")
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var stdout, stderr strings.Builder
	status := run(ctx, []string{"replay", "--speed", "recorded", "-"}, &world{
		stdin: strings.NewReader("5,a,x\n3600000000000,a,x\n"), stdout: &stdout, stderr: &stderr, now: time.Now,
		sleep: func(ctx context.Context, d time.Duration) error {
			cancel()
			return sleep(ctx, d)
		},
	})
	require.Equal(t, exitInterrupted, status)
	require.Contains(t, stdout.String(), "replayed  1 request, ")
	require.Contains(t, stderr.String(), "tickgate: interrupted, requests so far: 1\n")
}

// TestProgress: a bar is drawn on a terminal only, and is gone at the end.
func TestProgress(t *testing.T) {
	file := write(t, "a.csv", strings.Repeat(oneRequest, 5000))
	for _, isTerm := range []bool{false, true} {
		now := time.Unix(0, 0)
		var stdout, stderr strings.Builder
		status := run(context.Background(), []string{"replay", file}, &world{
			stdout: &stdout, stderr: &stderr, isTerm: isTerm,
			now: func() time.Time { now = now.Add(100 * time.Millisecond); return now },
		})
		require.Equal(t, exitOK, status)
		require.Equal(t, isTerm, strings.Contains(stderr.String(), "%"), stderr.String())
		shown := stderr.String()[strings.LastIndexByte(stderr.String(), '\r')+1:]
		require.Regexp(t, timing, shown)
	}
}

// TestOutputThatCannotBeWritten: a full disk is an error, not a short report.
func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr strings.Builder
	status := run(context.Background(), []string{"replay", "-"}, &world{
		stdin: strings.NewReader(oneRequest), stdout: broken{}, stderr: &stderr, now: time.Now, sleep: sleep,
	})
	require.Equal(t, exitFailed, status)
	require.Contains(t, stderr.String(), os.ErrClosed.Error())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }
