package main

import (
	"context"
	"errors"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

// errBegin is that of a process which was told to end before it served.
var errBegin = errors.New("told to end while what is to be served was being read; look for a file on a mount that does not answer")

// begin returns what read makes of files that may not answer. When ctx is done it is
// waited for at most so long, and then left alone.
func begin(ctx context.Context, most time.Duration, read func() (*service.Running, error)) (*service.Running, error) {
	type result struct {
		running *service.Running
		err     error
	}
	made := make(chan result, 1) // whoever is late leaves it there
	go func() {
		running, err := read()
		made <- result{running, err}
	}()
	select {
	case m := <-made:
		return m.running, m.err
	case <-ctx.Done():
	}
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case m := <-made:
		return m.running, m.err
	case <-late.C:
		return nil, errBegin
	}
}
