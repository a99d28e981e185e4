package httplimit

import (
	"sync"
	"time"
)

// TimerFunc runs f once, after d, in a goroutine of its own, unless stop is called
// before. It is [time.AfterFunc] but for tests.
type TimerFunc func(d time.Duration, f func()) (stop func() bool)

func systemTimer(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// lease extends a claim again and again while a handler runs. No goroutine waits for
// the time to come.
type lease struct {
	every  time.Duration
	timer  TimerFunc
	extend func() (goOn bool)

	mu   sync.Mutex
	stop func() bool
	over bool
}

// begin arms the timer.
func (l *lease) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop = l.timer(l.every, l.due)
}

// due extends once, and arms the timer again.
func (l *lease) due() {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over || !l.extend() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.stop = l.timer(l.every, l.due)
	}
}

// end stops the timer. An extension that is under way may still come after it.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.stop()
}
