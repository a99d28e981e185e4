package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tickgate/tickgate/proof/model"
)

const (
	memory  = "1500" // MB for one run; the largest needs 650
	depth   = "5000" // steps; the longest run has 400
	atMost  = 2 * time.Minute
	compile = "-DCOLLAPSE -DVECTORSZ=512"
)

// result is what one run of a verifier told.
type result struct {
	states, depth string
	seconds       float64
	broken        string // the assertion that failed
	complete      bool   // every state was visited
	fault         string // why there is no result
}

var (
	failed  = regexp.MustCompile(`(?m)^pan:1: (.*)$`)
	stored  = regexp.MustCompile(`(?m)^\s*(\d+) states, stored`)
	reached = regexp.MustCompile(`depth reached (\d+), errors: (\d+)`)
	// What pan says when it did not visit everything.
	partial = regexp.MustCompile(`Search not completed|max search depth too small|out of memory|reached -DMEMLIM|hash conflicts? resolved by|Bit statespace`)
)

// run makes a verifier for c in a folder of its own under dir, and runs it.
func (c check) run(ctx context.Context, dir string, i int) (r result) {
	begin := time.Now()
	defer func() { r.seconds = time.Since(begin).Seconds() }()
	ctx, stop := context.WithTimeout(ctx, atMost)
	defer stop()
	dir = filepath.Join(dir, fmt.Sprint(i))
	if err := os.CopyFS(dir, fs.FS(model.Files)); err != nil {
		return result{fault: err.Error()}
	}
	spin := []string{"-a"}
	for _, d := range strings.Fields(c.defines) {
		spin = append(spin, "-D"+d)
	}
	if c.bug {
		spin = append(spin, "-D"+c.macro())
	}
	if out, err := command(ctx, dir, "spin", append(spin, c.file)...); err != nil {
		return result{fault: "spin: " + firstLine(out, err)}
	}
	kind, pan := "-DSAFETY", []string{"-m" + depth}
	if c.cycles {
		// No state is marked as progress, so any cycle is a run that never ends.
		kind, pan = "-DNP", append(pan, "-l")
	}
	optimize := "-O2"
	if c.bug {
		optimize = "-O0" // it is found at once: compiling takes longer than that
	}
	gcc := append(strings.Fields(compile), kind, "-w", optimize, "-DMEMLIM="+memory, "-o", "pan", "pan.c")
	if out, err := command(ctx, dir, "gcc", gcc...); err != nil {
		return result{fault: "gcc: " + firstLine(out, err)}
	}
	out, err := command(ctx, dir, "./pan", pan...)
	if ctx.Err() != nil {
		return result{fault: "took too long, or was interrupted"}
	}
	if err != nil {
		return result{fault: "pan: " + firstLine(out, err)}
	}
	return parse(out)
}

// parse reads what a verifier printed.
func parse(out string) (r result) {
	if m := stored.FindStringSubmatch(out); m != nil {
		r.states = m[1]
	}
	m := reached.FindStringSubmatch(out)
	if m == nil {
		r.fault = "pan printed no result"
		return r
	}
	r.depth = m[1]
	if f := failed.FindStringSubmatch(out); f != nil {
		r.broken = f[1]
	} else if m[2] != "0" {
		r.broken = "an error"
	}
	r.complete = !partial.MatchString(out)
	return r
}

// verdict says what r means, and whether it is as it should be.
func (r result) verdict(bug bool) (string, bool) {
	switch {
	case r.fault != "":
		return "FAULT: " + r.fault, false
	case bug && r.broken != "":
		return "caught", strings.HasPrefix(r.broken, "assertion violated") || strings.HasPrefix(r.broken, "non-progress cycle")
	case bug:
		return "NOT CAUGHT", false
	case r.broken != "":
		return "REFUTED: " + r.broken, false
	case !r.complete:
		return "NOT EXHAUSTIVE", false
	}
	return "holds", true
}

func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func firstLine(out string, err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(out), "\n"); line != "" {
		return line
	}
	return err.Error()
}
