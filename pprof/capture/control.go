package main

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/tickgate/tickgate/pprof/internal/record"
	"github.com/tickgate/tickgate/pprof/internal/verdict"
)

// control makes one contended lock, one wait and one allocation, and fails unless all
// are found and attributed: with a runtime that records nothing, everything would pass
// for clean.
func control() error {
	s, err := record.Start()
	if err != nil {
		return err
	}
	var (
		mu sync.Mutex
		c  = make(chan bool)
		wg sync.WaitGroup
	)
	wg.Go(func() { waits(c) })
	wg.Go(func() { holds(&mu) })
	wg.Go(func() { holds(&mu) })
	time.Sleep(hold)
	c <- true
	allocates()
	wg.Wait()
	r, err := s.Stop()
	if err != nil {
		return err
	}
	profiles, err := r.Profiles()
	if err != nil {
		return err
	}
	for i, f := range []any{holds, waits, allocates} {
		roots := verdict.Roots{runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(): true}
		k := verdict.Kinds[i]
		found, err := roots.Judge(k, profiles[k.Name])
		if err != nil {
			return err
		}
		if len(found.Faults()) == 0 {
			return fmt.Errorf("the %s profile does not show what was done on purpose: its verdict would be worth nothing", k.Name)
		}
	}
	return nil
}

const hold = 20 * time.Millisecond

// holds keeps a lock so long that another who wants it sleeps.
//
//go:noinline
func holds(mu *sync.Mutex) {
	mu.Lock()
	time.Sleep(hold)
	mu.Unlock()
}

//go:noinline
func waits(c chan bool) { <-c }

var escaped *[64]byte

//go:noinline
func allocates() { escaped = new([64]byte) }
