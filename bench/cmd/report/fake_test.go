package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/bench/internal/table"
)

// fakePrograms print one result for each job and let their clock go on.
type fakePrograms struct {
	now      time.Time
	takes    func(j job) time.Duration
	ran      []string
	failing  string // name of the job that fails
	progress strings.Builder
}

func (f *fakePrograms) bench(_ context.Context, j job) ([]byte, error) {
	f.ran = append(f.ran, j.name)
	f.now = f.now.Add(f.takes(j))
	if j.name == f.failing {
		return nil, errors.New("exit status 1\n--- FAIL: BenchmarkGate")
	}
	return fmt.Appendf(nil, "goos: linux\nfound: here\nbenchtime: 1s\n\nBenchmarkFloor/op=add/g=1-2 10 %d ns/op\nPASS\n", len(f.ran)), nil
}

func (f *fakePrograms) memory(_ context.Context, lib string, keys int) ([]byte, error) {
	f.now = f.now.Add(time.Second)
	return fmt.Appendf(nil, "BenchmarkMemory/lib=%s/keys=%d 1 100 resident-B/key\n", lib, keys), nil
}

var someMachine = table.Conditions{
	{Key: "goos", Value: "linux"}, {Key: "cpu", Value: "Some CPU"}, {Key: "benchtime", Value: "short"},
	{Key: "date", Value: "2026-11-30T00:00:00Z"}, {Key: "load-before", Value: "0.01 0.02 0.03"},
}

// runFake runs a plan of two jobs, one of them large, within a budget.
func runFake(t *testing.T, f *fakePrograms, out string, rounds int, budget time.Duration) error {
	t.Helper()
	raw, err := newRaw(out, someMachine)
	require.NoError(t, err)
	f.now = time.Unix(1000, 0)
	m := measurer{
		plan: plan{
			rounds: rounds, memoryLibs: []string{"tickgate", "juju"}, memoryKeys: 100_000,
			small: []job{{name: "small"}}, large: []job{{name: "large"}},
		},
		start: f.now, budget: budget, raw: raw, programs: f,
		now: func() time.Time { return f.now }, progress: io.Writer(&f.progress),
	}
	return m.run(context.Background())
}

func takes(small, large time.Duration) func(job) time.Duration {
	return func(j job) time.Duration {
		if j.name == "large" {
			return large
		}
		return small
	}
}
