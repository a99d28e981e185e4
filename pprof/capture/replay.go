package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/tickgate/tickgate/pprof/internal/overlay"
)

// profiled is added to the command: it ends by os.Exit, after which nothing is written.
const profiled = `package main

import (
	"os"
	"runtime/pprof"
)

// profiled profiles until the function that it returns is called.
func profiled() func() {
	f, err := os.Create(os.Getenv("TICKGATE_CPU_PROFILE"))
	if err != nil {
		panic(err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
}
`

// profileReplay builds the command with a profile around it, has it replay a made-up
// recording for about d, and returns its CPU profile.
func profileReplay(d time.Duration) (*profile.Profile, error) {
	root, err := moduleDir()
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "tickgate-pgo-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	cmd := filepath.Join(root, "cmd", "tickgate")
	o := overlay.New(tmp)
	if err := errors.Join(o.Add(cmd, "profiled.go", profiled), o.Begin(cmd, "run", "defer profiled()()")); err != nil {
		return nil, err
	}
	flag, err := o.Flag()
	if err != nil {
		return nil, err
	}
	program, out := filepath.Join(tmp, "tickgate"), filepath.Join(tmp, "cpu.pprof")
	// Without the profile of before: it would hide calls that it had inlined.
	if _, err := command(cmd, "go", "build", flag, "-pgo=off", "-o", program, ".").output(); err != nil {
		return nil, err
	}
	c := command(cmd, program, "replay", "--policies", "testdata/trading.json", "testdata/itch-orders.csv", "-")
	c.Env = append(c.Env, "TICKGATE_CPU_PROFILE="+out)
	c.Stdin = recording(d)
	if _, err := c.output(); err != nil {
		return nil, err
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.Parse(f)
}

// moduleDir is where the module of tickgate is.
func moduleDir() (string, error) {
	out, err := command("", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tickgate/tickgate").output()
	return strings.TrimSpace(out), err
}

// recording makes up requests for d: many callers, three endpoints, a few microseconds
// apart, in the form that replay reads.
func recording(d time.Duration) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(w, 1<<16)
		endpoints := [...]string{"order.new", "order.cancel", "order.modify"}
		ts, seed := int64(1e18), uint64(1)
		for end := time.Now().Add(d); time.Now().Before(end); {
			for range 1000 {
				seed = seed*6364136223846793005 + 1442695040888963407
				ts += int64(seed >> 52)
				if _, err := fmt.Fprintf(out, "%d,desk-%05d,%s,1\n", ts, seed>>33%20_000, endpoints[seed>>20%3]); err != nil {
					return // the program ended; it says why
				}
			}
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}

// process is a program to be run.
type process struct{ *exec.Cmd }

func command(dir, name string, args ...string) process {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, os.Environ()
	return process{c}
}

// output runs the program and returns what it printed; what it says of a failure is in
// the error.
func (p process) output() (string, error) {
	var stderr bytes.Buffer
	p.Stderr = &stderr
	out, err := p.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(p.Path), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(out), err
}
