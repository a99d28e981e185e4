package tickgate

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// waits are the lines of those who wait, one for each key that somebody waits for.
// No decision takes the lock.
type waits struct {
	here  atomic.Int64 // how many wait
	mu    sync.Mutex
	lines map[lineOf]*list.List // of *waiter
}

type lineOf struct{ apikey, endpoint string }

// waiter is a place in a line.
type waiter struct {
	s     *waits
	of    lineOf
	n     int64
	place *list.Element
	// kick holds a token if there may be news: to be first, or another policy.
	kick chan struct{}
}

// enter takes the last place in the line of a key.
func (s *waits) enter(apikey, endpoint string, n int64) *waiter {
	w := &waiter{s: s, of: lineOf{apikey, endpoint}, n: n, kick: make(chan struct{}, 1)}
	s.here.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.lines[w.of]
	if line == nil {
		if s.lines == nil {
			s.lines = make(map[lineOf]*list.List)
		}
		line = list.New()
		s.lines[w.of] = line
	}
	w.place = line.PushBack(w)
	return w
}

// leave gives up the place. If it was the first, the next is told.
func (w *waiter) leave() {
	defer w.s.here.Add(-1)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	line := w.s.lines[w.of]
	first := line.Front() == w.place
	line.Remove(w.place)
	if line.Len() == 0 {
		delete(w.s.lines, w.of)
	} else if first {
		line.Front().Value.(*waiter).tell()
	}
}

// first reports whether nobody is ahead.
func (w *waiter) first() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.lines[w.of].Front() == w.place
}

// ahead returns the tokens of w and of all ahead of it but the first, which has
// reserved its own.
func (w *waiter) ahead() int64 {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	n := w.n
	for e := w.place.Prev(); e != nil && e.Prev() != nil; e = e.Prev() {
		n += e.Value.(*waiter).n
		if n < 0 {
			return 1<<63 - 1
		}
	}
	return n
}

func (w *waiter) tell() {
	select {
	case w.kick <- struct{}{}:
	default: // there is news already
	}
}

// wakeKey tells those who wait for a key that there may be news of it: tokens were given
// back, or it is banned. It costs a look where nobody waits.
func (s *waits) wakeKey(apikey, endpoint string) {
	if s.here.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if line := s.lines[lineOf{apikey, endpoint}]; line != nil {
		tellAll(line)
	}
}

// wake tells everybody that there may be news: the policies or blocks changed.
func (s *waits) wake() {
	if s.here.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		tellAll(line)
	}
}

func tellAll(line *list.List) {
	for e := line.Front(); e != nil; e = e.Next() {
		e.Value.(*waiter).tell()
	}
}
