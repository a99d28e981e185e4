package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/pprof/internal/load"
	"github.com/tickgate/tickgate/pprof/internal/overlay"
	"github.com/tickgate/tickgate/pprof/internal/record"
)

// build builds the command, in a process of its own: rates are set before anything is
// allocated. Without flags it is of the code as it is.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "capture")
	out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", program, ".")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// execute runs a program and returns its exit status and what it printed.
func execute(t *testing.T, program string, args ...string) (int, string, string) {
	t.Helper()
	c := exec.Command(program, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return c.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// The decision path as it is waits for nothing and allocates nothing, and all profiles
// of it are there to be read.
func TestRealCodeIsClean(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hot.cpu.svg"), []byte("of before"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("not ours"), 0o600))
	status, stdout, stderr := execute(t, build(t), "-short", "-o", dir)
	require.Zero(t, status, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "clean: no mutex, block or allocation sample comes from the decision path")
	require.NotContains(t, stdout, "FAULTS")
	report, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	require.NoError(t, err)
	require.Equal(t, stdout, string(report))
	require.FileExists(t, filepath.Join(dir, "notes.txt"))
	for _, g := range load.Groups() {
		for _, kind := range record.Kinds {
			name := filepath.Join(dir, g.Name+"."+kind)
			raw, err := os.ReadFile(name + ".pb.gz")
			require.NoError(t, err)
			p, err := profile.ParseData(raw)
			require.NoError(t, err, name)
			text, err := os.ReadFile(name + ".txt")
			require.NoError(t, err)
			require.Contains(t, string(text), g.What)
			picture, err := os.ReadFile(name + ".svg")
			require.NoError(t, err)
			require.NoError(t, xml.Unmarshal(picture, new(struct{})), name)
			if kind == "cpu" {
				require.NotEmpty(t, p.Sample)
				require.Contains(t, string(text), g.Cases[0].Policy+"/", "the shares of the labels")
			}
		}
	}
}

// A lock, a wait and an allocation are put into the real decision path, at its
// entrance and behind it, and the command is built anew: it fails, and says where.
func TestFaultsPutThereAreFound(t *testing.T) {
	const seeds = `package tickgate

import (
	"sync"
	"sync/atomic"
)

var (
	seededMutex sync.Mutex
	seededToken = make(chan struct{}, 1)
	seededSink  atomic.Pointer[[64]byte]
)

func seededWait() func() {
	seededToken <- struct{}{}
	return func() { <-seededToken }
}
`
	for name, c := range map[string]struct {
		function, statement string
		only, finds         string
		root                string
	}{
		"mutex":      {"Handle.AllowAt", "seededMutex.Lock(); defer seededMutex.Unlock()", "hot/rate/handle-allow-at", "mutex", "Handle.AllowAt"},
		"channel":    {"Gate.TakeBatch", "defer seededWait()()", "hot/rate/take-batch", "block", "(*Gate).TakeBatch"},
		"allocation": {"Handle.TakeAt", "seededSink.Store(new([64]byte))", "hot/rate/handle-take-at", "allocs", "Handle.TakeAt"},
		"deep":       {"Decision.refuse", "seededSink.Store(new([64]byte))", "denials/no policy/gate-take", "allocs", "(*Gate).Take"},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := moduleDir()
			require.NoError(t, err)
			o := overlay.New(t.TempDir())
			require.NoError(t, o.Add(root, "seeded.go", seeds))
			require.NoError(t, o.Begin(root, c.function, c.statement))
			flag, err := o.Flag()
			require.NoError(t, err)
			status, stdout, stderr := execute(t, build(t, flag), "-each", "200ms", "-only", c.only, "-o", t.TempDir())
			require.Equal(t, 1, status, "%s%s", stdout, stderr)
			require.Contains(t, stderr, "the decision path waits or allocates")
			_, faults, _ := strings.Cut(stdout, "FAULTS\n")
			group, _, _ := strings.Cut(c.only, "/")
			require.Contains(t, faults, group+": "+c.finds+" in tickgate."+c.root+": ")
			require.Contains(t, faults, "from tickgate."+c.root+"\n")
		})
	}
}

func TestControlIsSeen(t *testing.T) {
	defer record.EverySample()()
	require.NoError(t, control())
}

// Without it a runtime that records nothing would pass for a clean decision path.
func TestControlFailsWhereNothingIsRecorded(t *testing.T) {
	require.ErrorContains(t, control(), "profile does not show what was done on purpose")
}

func TestDecidedNeedsTheNames(t *testing.T) {
	p := &profile.Profile{}
	for range 30 {
		f := &profile.Function{Name: "main.renamed"}
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1}, Location: []*profile.Location{{Line: []profile.Line{{Function: f}}}}})
	}
	_, err := decided(p, map[string]bool{"tickgate.Handle.Allow": true})
	require.ErrorContains(t, err, "no CPU sample is within a decision")
	share, err := decided(p, map[string]bool{"main.renamed": true})
	require.NoError(t, err)
	require.Equal(t, "100 %", share)
}

func TestArguments(t *testing.T) {
	for args, says := range map[string]string{
		"extra": "unexpected argument", "-only [": "-only: ", "-only nothing-has-this-name": "matches no path",
		"-each 1us": "-each must be", "-workers 1": "-workers must be 2", "-fast": "not defined",
	} {
		var stderr bytes.Buffer
		require.Equal(t, 2, run(strings.Fields(args), io.Discard, &stderr), args)
		require.Contains(t, stderr.String(), says)
	}
	var stdout bytes.Buffer
	require.Zero(t, run([]string{"-list", "-only", "churn"}, &stdout, io.Discard))
	require.Len(t, strings.Split(strings.TrimSpace(stdout.String()), "\n"), 5)
	require.Zero(t, run([]string{"-help"}, io.Discard, io.Discard))
}
