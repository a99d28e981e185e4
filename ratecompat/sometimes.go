package ratecompat

import (
	"sync"
	"time"
)

// Sometimes runs a function now and then: on the first First calls of Do, on
// every Every-th call beginning with the first, and when Interval has passed since
// it last ran. Each that is above zero counts, and one of them is enough. The first
// call always runs. The zero Sometimes runs once.
type Sometimes struct {
	First    int
	Every    int
	Interval time.Duration

	mu    sync.Mutex
	calls int
	last  time.Time
}

// Do runs f if it is time to. Concurrent calls wait for each other, f included,
// so f must not call Do of the same Sometimes.
func (s *Sometimes) Do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.due() {
		f()
		s.last = time.Now()
	}
	s.calls++
}

func (s *Sometimes) due() bool {
	switch {
	case s.calls == 0, s.calls < s.First:
		return true
	case s.Every > 0 && s.calls%s.Every == 0:
		return true
	}
	return s.Interval > 0 && time.Since(s.last) >= s.Interval
}
