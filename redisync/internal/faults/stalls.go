//go:build linux

package faults

import (
	"sync"
	"time"
)

// stalls notes when this process did not run: a machine that others use, too, now and
// then stands still for a good part of a second. What nobody could ask for in that
// time is not missed in what was admitted. Bounds are not affected.
type stalls struct {
	watch stopwatch
	stop  chan struct{}
	wg    sync.WaitGroup
	spans []Silence
}

const (
	stallLook  = 2 * time.Millisecond
	stallLeast = 25 * time.Millisecond
)

func watchStalls() *stalls {
	s := &stalls{watch: newStopwatch(), stop: make(chan struct{})}
	s.wg.Go(func() {
		t := time.NewTicker(stallLook)
		defer t.Stop()
		for last := s.watch.now(); ; {
			select {
			case <-t.C:
			case <-s.stop:
				return
			}
			now := s.watch.now()
			if now-last > int64(stallLeast) {
				s.spans = append(s.spans, Silence{last, now})
			}
			last = now
		}
	})
	return s
}

// end ends the watch.
func (s *stalls) end() {
	close(s.stop)
	s.wg.Wait()
}

// since returns how long the process stood still after a time. The watch has ended.
func (s *stalls) since(ns int64) (all time.Duration) {
	for _, q := range s.spans {
		all += time.Duration(max(0, q.To-max(q.From, ns)))
	}
	return all
}
