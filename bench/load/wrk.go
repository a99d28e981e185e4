package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed wrk.lua
var script []byte

// caller is the name of a caller, from 0 on; the script for wrk uses the same.
func caller(i int) string { return fmt.Sprintf("account-%06d", i) }

// wrk is the load generator.
type wrk struct {
	program, script      string
	connections, callers int
}

// newWrk finds the program and puts its script into the folder dir.
func newWrk(dir string, connections, callers int) (*wrk, error) {
	program, err := exec.LookPath("wrk")
	if err != nil {
		return nil, errors.New("wrk is not installed; on Debian: apt-get install wrk")
	}
	w := &wrk{program: program, script: filepath.Join(dir, "wrk.lua"), connections: connections, callers: callers}
	return w, os.WriteFile(w.script, script, 0o600)
}

// sample is one turn of one server.
type sample struct {
	requests int64
	took     time.Duration
	bytes    int64 // received, headers included
	p50, p99 time.Duration
	refused  int64 // of the requests: answered with a status of 400 or above
	failed   int64 // connections and answers that were cut off or late

	cpu time.Duration // that the server took of the processors
}

func (s *sample) perSecond() float64 { return float64(s.requests) / s.took.Seconds() }

// asks is what the script is to ask of a kind of server.
func asks(kind string) string {
	switch {
	case kind == takeMany:
		return takeMany
	case strings.HasPrefix(kind, take):
		return take
	}
	return "query"
}

// run loads a server for a time. There is one thread: it shares the processors with
// the server, and more would only take turns with it.
func (w *wrk) run(ctx context.Context, c *child, d time.Duration) (sample, error) {
	before, err := c.cpu()
	if err != nil {
		return sample{}, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, w.program, "-t1", fmt.Sprintf("-c%d", w.connections),
		fmt.Sprintf("-d%ds", int(d.Seconds())), "-s", w.script, c.url, "--", strconv.Itoa(w.callers), asks(c.kind))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("wrk against %s: %w: %s", c.kind, err, bytes.TrimSpace(out.Bytes()))
	}
	s, err := parseResult(out.String())
	if err != nil {
		return sample{}, fmt.Errorf("wrk against %s: %w", c.kind, err)
	}
	after, err := c.cpu()
	s.cpu = after - before
	return s, err
}

// parseResult reads the line that the script writes.
func parseResult(out string) (sample, error) {
	var s sample
	var took, p50, p99 int64
	from := strings.Index(out, "result requests=")
	if from < 0 {
		return s, fmt.Errorf("no result in %q", out)
	}
	if _, err := fmt.Sscanf(out[from:], "result requests=%d us=%d bytes=%d p50=%d p99=%d refused=%d failed=%d",
		&s.requests, &took, &s.bytes, &p50, &p99, &s.refused, &s.failed); err != nil {
		return s, fmt.Errorf("no result in %q: %w", out, err)
	}
	if s.requests <= 0 || took <= 0 {
		return s, fmt.Errorf("no request was answered: %q", out)
	}
	s.took, s.p50, s.p99 = time.Duration(took)*time.Microsecond, time.Duration(p50)*time.Microsecond, time.Duration(p99)*time.Microsecond
	return s, nil
}
