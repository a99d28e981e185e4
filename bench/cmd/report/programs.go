package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// programs run a part of the plan and return what it printed. An error holds the
// output of what failed.
type programs interface {
	bench(ctx context.Context, j job) ([]byte, error)
	memory(ctx context.Context, lib string, keys int) ([]byte, error)
}

// built are the programs in a folder of their own.
type built struct {
	dir string
}

const module = "github.com/tickgate/tickgate/bench"

// build compiles the benchmarks and cmd/memory.
func build(ctx context.Context, progress io.Writer) (*built, error) {
	dir, err := os.MkdirTemp("", "tickgate-bench-")
	if err != nil {
		return nil, err
	}
	b := &built{dir}
	fmt.Fprintln(progress, "compiling the benchmarks")
	for _, args := range [][]string{
		{"test", "-c", "-o", b.benchPath(), module},
		{"build", "-o", b.memoryPath(), module + "/cmd/memory"},
	} {
		if _, err := output(exec.CommandContext(ctx, "go", args...)); err != nil {
			b.remove()
			return nil, fmt.Errorf("go %s (run it inside this module): %w", args[0], err)
		}
	}
	return b, nil
}

func (b *built) benchPath() string  { return filepath.Join(b.dir, "bench.test") }
func (b *built) memoryPath() string { return filepath.Join(b.dir, "memory") }
func (b *built) remove()            { os.RemoveAll(b.dir) }

// bench runs the benchmarks of a job. One that hangs ends with the stacks of its
// goroutines.
func (b *built) bench(ctx context.Context, j job) ([]byte, error) {
	return output(exec.CommandContext(ctx, b.benchPath(), "-test.run=^$", "-test.bench="+j.pattern,
		"-test.benchtime="+j.benchtime, "-test.count="+strconv.Itoa(j.count), "-test.timeout=5m"))
}

func (b *built) memory(ctx context.Context, lib string, keys int) ([]byte, error) {
	return output(exec.CommandContext(ctx, b.memoryPath(), "-bench", "-lib", lib, "-keys", strconv.Itoa(keys)))
}

// output runs a command. It fails as well where a benchmark failed and the command
// did not say so.
func output(cmd *exec.Cmd) ([]byte, error) {
	var fault bytes.Buffer
	cmd.Stderr = &fault
	out, err := cmd.Output()
	if err == nil && bytes.Contains(out, []byte("--- FAIL")) {
		err = fmt.Errorf("a benchmark failed")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, out, fault.Bytes())
	}
	return out, nil
}
