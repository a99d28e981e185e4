package memory

import (
	"log/slog"
	"net/http"

	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
)

// logged writes a line for each request: what was asked for, as the limiter names it,
// and how it ended, with status 0 if nothing was sent. Keys, paths, queries, headers and bodies are what clients write, and
// stay out of it.
func logged(log *slog.Logger, c clock.Clock, endpoint httplimit.EndpointFunc, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, seen := c.Now(), &statusWriter{ResponseWriter: w}
		defer func() { // also of a panic, which the server ends
			log.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("endpoint", endpoint(r)),
				slog.Int("status", seen.status),
				slog.Bool("replayed", seen.Header().Get("Idempotent-Replayed") == "true"),
				slog.Duration("took", c.Now().Sub(begun)))
		}()
		next.ServeHTTP(seen, r)
	})
}

// statusWriter notes the status of a response; 0 if there was none.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the first status that is not informational.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body, after status 200 if none was set.
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
