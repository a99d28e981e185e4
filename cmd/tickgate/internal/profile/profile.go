// Package profile puts labels on what requests do, so that profiles of the processor
// tell surfaces and policies apart.
package profile

import (
	"context"
	"net/http"
	"runtime/pprof"
	"sync"
)

// Wrap labels the goroutine of each request while next runs, and those that it starts:
// path is the surface, policy what answers for the request, as policy says; with a nil
// policy that label is left out. It costs some 50 ns: the labels of a policy are made
// once. There must be no more names of policies than there are policies.
func Wrap(path string, policy func(*http.Request) string, next http.Handler) http.Handler {
	plain := pprof.WithLabels(context.Background(), pprof.Labels("path", path))
	var made sync.Map // name to context, written once for each name
	labels := func(r *http.Request) context.Context {
		if policy == nil {
			return plain
		}
		name := policy(r)
		if known, ok := made.Load(name); ok {
			return known.(context.Context)
		}
		fresh, _ := made.LoadOrStore(name, pprof.WithLabels(plain, pprof.Labels("policy", name)))
		return fresh.(context.Context)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pprof.SetGoroutineLabels(labels(r))
		defer pprof.SetGoroutineLabels(context.Background())
		next.ServeHTTP(w, r)
	})
}
