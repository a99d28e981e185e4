package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// child is a server in a process of its own.
type child struct {
	kind  string
	url   string // "http://127.0.0.1:40123"
	cmd   *exec.Cmd
	stdin io.Closer
}

// start starts the server of a kind, and returns when it listens: tickgate itself, if
// the kind is for that, else this program. The server ends with ctx and with end; this
// program as a server also ends with this process, however that ends.
func start(ctx context.Context, o *options, kind string, stderr io.Writer) (*child, error) {
	if isTake(kind) {
		return launch(kind, takeCommand(ctx, o), (*exec.Cmd).StderrPipe, takeAddress)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", kind, "-until-eof", "-callers", strconv.Itoa(o.callers))
	cmd.Stderr = stderr
	return launch(kind, cmd, (*exec.Cmd).StdoutPipe, func(line string) string {
		fields := strings.Fields(line)
		return fields[len(fields)-1]
	})
}

// launch starts a server that says where it listens in a line of a pipe: where returns
// the URL of that line, and nothing of others.
func launch(kind string, cmd *exec.Cmd, pipe func(*exec.Cmd) (io.ReadCloser, error), where func(line string) string) (*child, error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 3 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := pipe(cmd)
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{kind: kind, cmd: cmd, stdin: stdin}
	var before strings.Builder
	lines := bufio.NewReader(said)
	for c.url == "" {
		line, err := lines.ReadString('\n')
		before.WriteString(line)
		if err != nil {
			c.end()
			return nil, fmt.Errorf("the server %s did not start: %w: %s", kind, err, before.String())
		}
		c.url = where(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the server
	return c, nil
}

// end ends the server and waits for it.
func (c *child) end() {
	_ = c.stdin.Close()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	_ = c.cmd.Wait() // it was told to end: how it did is of no interest
}

// ticksPerSecond is the unit of the times in /proc, which Linux fixes for programs.
const ticksPerSecond = 100

// cpu returns the time that the server took of the processors so far, in steps of
// 10 ms.
func (c *child) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("the time of the processors comes from Linux's /proc: %w", err)
	}
	return parseCPU(string(stat))
}

// parseCPU adds up utime and stime, fields 14 and 15 of a line of /proc/PID/stat. The
// second field is a name in parentheses, in which anything can be.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q is no line of /proc/PID/stat", stat)
	}
	var sum int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no line of /proc/PID/stat: %w", stat, err)
		}
		sum += n
	}
	return time.Duration(sum) * (time.Second / ticksPerSecond), nil
}
