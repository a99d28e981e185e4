package server

import (
	"context"
	"net/http"
	"sync/atomic"
)

// flights counts the requests under way, upgraded connections included, for which
// http.Server does not wait. A sync.WaitGroup could not be waited for with a bound.
type flights struct {
	n     atomic.Int64
	empty chan struct{} // holds a token if n may have come to 0
}

func newFlights() *flights { return &flights{empty: make(chan struct{}, 1)} }

// count counts the requests of next.
func (f *flights) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.n.Add(1)
		defer f.end()
		next.ServeHTTP(w, r)
	})
}

func (f *flights) end() {
	if f.n.Add(-1) == 0 {
		select {
		case f.empty <- struct{}{}:
		default: // the token is there: whoever waits looks again
		}
	}
}

func (f *flights) number() int { return int(f.n.Load()) }

// wait waits until no request is under way, and reports whether that came before ctx
// was done. No request may begin meanwhile.
func (f *flights) wait(ctx context.Context) bool {
	for f.n.Load() > 0 {
		select {
		case <-f.empty: // perhaps of an earlier time
		case <-ctx.Done():
			return f.n.Load() == 0
		}
	}
	return true
}
