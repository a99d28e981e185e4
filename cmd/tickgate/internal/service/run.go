package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/admin"
)

// Surface is one port.
type Surface struct {
	Name     string // for people
	Listener net.Listener

	// Serve serves until ctx is done, lets what is under way end, and closes the
	// listener.
	Serve func(ctx context.Context, listener net.Listener) error
}

// Running is all that runs in a process.
type Running struct {
	Surfaces []Surface               // those for callers
	Admin    *Surface                // the one for operators; nil: none
	Workers  []func(context.Context) // beside them
	Closers  []func(context.Context) error
	Ready    *admin.Ready // nil: nobody asks

	// ShutdownTimeout is how long the surfaces for callers take at most; workers may take
	// what is left of it.
	ShutdownTimeout time.Duration

	Hangup <-chan struct{}       // a signal to read files again; nil: none comes
	Reload func(context.Context) // what is done then
	Log    *slog.Logger
}

const (
	// closeWithin is how long each closer may take.
	closeWithin = 10 * time.Second
	// workWithin is how long workers may take at least to see that they are to end. One that
	// hangs in the reading of a file does not see it.
	workWithin = 100 * time.Millisecond
)

// Run runs everything until ctx is done, or until a surface fails. The end has an
// order: the process says that it is not ready, the surfaces for callers end, then the
// workers, then what Closers close, one after the other, and last the admin port, which
// tells of it all until then. It returns every fault.
func Run(ctx context.Context, r Running) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	base := context.WithoutCancel(ctx)
	var faults faults
	serve := func(ctx context.Context, s Surface) {
		if err := s.Serve(ctx, s.Listener); err != nil {
			faults.add(s.Name, err)
		}
		stop() // one that ends early ends all
	}
	working, stopWorking := context.WithCancel(base)
	defer stopWorking()
	operating, stopOperating := context.WithCancel(base)
	defer stopOperating()

	var operator, workers, surfaces sync.WaitGroup
	if r.Admin != nil {
		operator.Go(func() { serve(operating, *r.Admin) })
	}
	for _, work := range r.Workers {
		workers.Go(func() { work(working) })
	}
	if r.Reload != nil {
		workers.Go(func() { r.reloads(working) })
	}
	for _, s := range r.Surfaces {
		surfaces.Go(func() { serve(ctx, s) })
	}
	if r.Ready != nil {
		r.Ready.Release(starting)
		context.AfterFunc(ctx, func() { r.Ready.Hold("process", "shutting down") })
	}

	<-ctx.Done()
	begun := time.Now()
	surfaces.Wait()
	stopWorking()
	if !endsWithin(&workers, max(workWithin, r.ShutdownTimeout-time.Since(begun))) {
		r.Log.Warn("ended while something hangs, as the reading of a file on a mount that does not answer")
	}
	for _, closer := range r.Closers {
		within, done := context.WithTimeout(base, closeWithin)
		faults.add("", closer(within))
		done()
	}
	stopOperating()
	operator.Wait()
	return errors.Join(faults.all...)
}

// starting is the part of a process that is not ready before Run.
const starting = "data port"

// Starting has a process be not ready until Run.
func Starting(r *admin.Ready) { r.Hold(starting, "not serving yet") }

// endsWithin waits for all at most so long, and reports whether they ended.
func endsWithin(all *sync.WaitGroup, most time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		all.Wait()
	}()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
		return false
	}
}

// reloads reads files again at each signal.
func (r *Running) reloads(ctx context.Context) {
	for {
		select {
		case <-r.Hangup:
			r.Log.Info("told to read everything again")
			r.Reload(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// faults are collected by several goroutines.
type faults struct {
	mu  sync.Mutex
	all []error
}

func (f *faults) add(name string, err error) {
	if err == nil {
		return
	}
	if name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, err)
}
