// Package logtest is for tests that look at a log while it is written.
package logtest

import (
	"bytes"
	"sync"
)

// Lines is what was written so far. The zero value is empty and ready; any number of
// goroutines may write and read.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String returns all that was written.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
