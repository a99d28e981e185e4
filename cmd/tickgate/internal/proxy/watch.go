package proxy

import (
	"sync"
	"time"
)

// watch waits for an upstream, and calls late when it takes too long for a step. The
// steps are parts of the request, while none is read from the client, and the answer.
// A time-out for the answer alone would wait for ever for an upstream that does not
// take the request.
type watch struct {
	most time.Duration

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

func newWatch(most time.Duration, late func()) *watch {
	return &watch{most: most, timer: time.AfterFunc(most, late)}
}

// pause stops the time, until resume.
func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

// resume begins with the next step.
func (w *watch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(w.most)
	}
}

// end stops the time for good. The request's body may be read on.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
