package server

import (
	"context"
	"net/http"
	"sync"
)

// flights counts the requests under way, upgraded connections included, for which
// http.Server does not wait. A sync.WaitGroup could not be waited for with a bound.
type flights struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed while n is 0
}

func newFlights() *flights {
	f := &flights{empty: make(chan struct{})}
	close(f.empty)
	return f
}

// count counts the requests of next.
func (f *flights) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.add(1)
		defer f.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (f *flights) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.empty = make(chan struct{})
	}
	if f.n += n; f.n == 0 {
		close(f.empty)
	}
}

func (f *flights) number() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// wait waits until no request is under way, and reports whether that came before ctx
// was done. No request may begin meanwhile.
func (f *flights) wait(ctx context.Context) bool {
	f.mu.Lock()
	empty := f.empty
	f.mu.Unlock()
	select {
	case <-empty:
		return true
	default:
	}
	select {
	case <-empty:
		return true
	case <-ctx.Done():
		return false
	}
}
