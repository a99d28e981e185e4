package main

import (
	"fmt"
	"sync"
)

// faults collects what was violated: the first of each kind in words.
type faults struct {
	mu   sync.Mutex
	text []string
	more int
}

const mostFaults = 20

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.text) == mostFaults {
		f.more++
		return
	}
	f.text = append(f.text, fmt.Sprintf(format, args...))
}

func (f *faults) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.more > 0 {
		return append(f.text[:len(f.text):len(f.text)], fmt.Sprintf("and %d more", f.more))
	}
	return f.text
}
