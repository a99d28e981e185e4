//go:build linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// childEnv hands a process the Setup of the node that it is to be.
const childEnv = "TICKGATE_FAULTS_NODE"

// answerWithin is how long a node's process may take to answer.
const answerWithin = 20 * time.Second

// Child makes this process a node, and ends it, if it was started as one by [Spawn].
// Programs that call Spawn call it first of all, tests from TestMain.
func Child() {
	text, is := os.LookupEnv(childEnv)
	if !is {
		return
	}
	if err := child(text, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// answer is a line of a node's process.
type answer struct {
	Failed string
	Stats  Stats
	Report Report
}

// child is a node that does what it reads, line by line, and answers each with one.
func child(text string, in io.Reader, out io.Writer) error {
	var s Setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("faults: %s: %w", childEnv, err)
	}
	answers := json.NewEncoder(out)
	ctx := context.Background()
	n, err := Start(ctx, s)
	if err != nil {
		return answers.Encode(answer{Failed: err.Error()})
	}
	if err := answers.Encode(answer{}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var a answer
		switch line := lines.Text(); line {
		case "begin":
			err = n.Begin()
		case "end":
			err = n.End()
		case "stats":
			a.Stats, err = n.Stats()
		case "close":
			deadline, cancel := context.WithTimeout(ctx, answerWithin/2)
			a.Report, err = n.Close(deadline)
			cancel()
		default:
			err = fmt.Errorf("faults: a node does not know %q", line)
		}
		if err != nil {
			a.Failed = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// Process is a node in a process of its own, which can be killed and stopped.
type Process struct {
	setup   Setup
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	once    sync.Once
	log     *Log
}

// Spawn starts this program again as a node. The setup needs a Path.
func Spawn(s Setup) (*Process, error) {
	if s.Path == "" {
		return nil, errors.New("faults: a node in its own process needs a file for its log: set Setup.Path")
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := &Process{setup: s, cmd: exec.Command(os.Args[0]), answers: make(chan answer, 1)}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("faults: no process for node %d: %w", s.Index, err)
	}
	go func() {
		defer close(p.answers)
		for d := json.NewDecoder(out); ; {
			var a answer
			if d.Decode(&a) != nil {
				return
			}
			p.answers <- a
		}
	}()
	if _, err := p.answer("start"); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// ask has the node do something and waits for the answer.
func (p *Process) ask(what string) (answer, error) {
	if _, err := io.WriteString(p.in, what+"\n"); err != nil {
		return answer{}, fmt.Errorf("faults: node %d does not %s: %w", p.setup.Index, what, err)
	}
	return p.answer(what)
}

func (p *Process) answer(what string) (answer, error) {
	select {
	case a, ok := <-p.answers:
		switch {
		case !ok:
			return a, fmt.Errorf("faults: node %d has ended instead of %s", p.setup.Index, strings.TrimSuffix(what, "e")+"ing")
		case a.Failed != "":
			return a, errors.New(a.Failed)
		}
		return a, nil
	case <-time.After(answerWithin):
		return answer{}, fmt.Errorf("faults: node %d does not %s within %v", p.setup.Index, what, answerWithin)
	}
}

// Begin lets the load run.
func (p *Process) Begin() error { _, err := p.ask("begin"); return err }

// End ends the load. That of a node that was killed has ended.
func (p *Process) End() error {
	if p.dead() {
		return nil
	}
	_, err := p.ask("end")
	return err
}

// Stats returns what the reconciler counts; nothing of a node that was killed.
func (p *Process) Stats() (Stats, error) {
	if p.dead() {
		return Stats{}, nil
	}
	a, err := p.ask("stats")
	return a.Stats, err
}

// Close has the reconciler flush and leave, and ends the process.
func (p *Process) Close(context.Context) (Report, error) {
	if p.dead() {
		return Report{}, nil
	}
	a, err := p.ask("close")
	p.in.Close()
	p.once.Do(func() { p.cmd.Wait() })
	return a.Report, err
}

func (p *Process) dead() bool { return p.cmd.ProcessState != nil }

// Kill ends the process with SIGKILL. It may be called again.
func (p *Process) Kill() {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
}

// Freeze stops the process with SIGSTOP, Thaw lets it go on.
func (p *Process) Freeze() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

// Log returns what the node admitted, also one that was killed.
func (p *Process) Log() (*Log, error) {
	if p.log == nil {
		log, err := OpenLog(p.setup.Path)
		if err != nil {
			return nil, err
		}
		p.log = log
	}
	return p.log, nil
}
