//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
)

// bench stands in for a test's T.
type bench struct {
	cleanups []func()
	why      string
	skipped  bool
}

// attempt runs one thing with a bench of its own, and returns why it ended early, "" if
// it did not. What it started is stopped when it returns.
func attempt(do func(t *bench)) (why string, skipped bool) {
	t := &bench{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := len(t.cleanups) - 1; i >= 0; i-- {
				t.cleanups[i]()
			}
		}()
		do(t)
	}()
	<-done
	return t.why, t.skipped
}

func (t *bench) Helper()           {}
func (t *bench) Cleanup(do func()) { t.cleanups = append(t.cleanups, do) }

func (t *bench) Logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (t *bench) Fatalf(format string, args ...any) {
	t.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (t *bench) Skipf(format string, args ...any) {
	t.skipped = true
	t.Fatalf(format, args...)
}
