// Package visit keeps what is known of one request while it goes through the layers of
// a server, and logs it when it ends: nothing that a client wrote.
package visit

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Visit is what is known of one request. It belongs to the goroutine of its handler.
type Visit struct {
	Endpoint string // the name of the policy that answers for it
	Caller   string // who makes it, by the hash of the key; "" if nobody is named
	Limit    string // that denied it, or why else it was denied
	Error    string // the code of an answer that is not the handler's
	Cause    string // of an error, for people; no text of the client's
}

type key struct{}

// Of returns the visit of a request inside [Log].
func Of(r *http.Request) *Visit { return In(r.Context()) }

// In returns the visit of the request that a context belongs to, nil outside [Log].
func In(ctx context.Context) *Visit {
	v, _ := ctx.Value(key{}).(*Visit)
	return v
}

// Log gives each request a visit, and writes a line when it ends:
//
//	msg=request endpoint="POST /orders" status=429 replayed=false took=31.2µs limit=burst
//
// limit is there for what was denied, error and cause for what failed, and aborted=true
// where an answer broke off after its status, since the upstream or the client went away.
// The status is 0 if nothing was sent, as when the client has gone, and 101 of a
// connection that was upgraded, which ends with the connection. A line is a warning if
// the status is 5xx.
//
// name says how callers are called in the log, by what Visit.Caller has; nil leaves
// them out.
func Log(log *slog.Logger, now func() time.Time, endpoint func(*http.Request) string, name func(caller string) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := now()
		v := &Visit{Endpoint: endpoint(r)}
		seen := &writer{ResponseWriter: w}
		whole := false
		defer func() { // also of a panic, which the server ends
			v.write(log, name, seen, whole, now().Sub(begun))
		}()
		next.ServeHTTP(seen, r.WithContext(context.WithValue(r.Context(), key{}, v)))
		whole = true
	})
}

func (v *Visit) write(log *slog.Logger, name func(string) string, seen *writer, whole bool, took time.Duration) {
	level := slog.LevelInfo
	if seen.status >= 500 {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 9)
	attrs = append(attrs,
		slog.String("endpoint", v.Endpoint),
		slog.Int("status", seen.status),
		slog.Bool("replayed", seen.replayed),
		slog.Duration("took", took))
	for _, a := range [...]struct{ name, value string }{{"limit", v.Limit}, {"error", v.Error}, {"cause", v.Cause}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, a.value))
		}
	}
	if !whole && seen.status > 0 {
		attrs = append(attrs, slog.Bool("aborted", true))
	}
	if name != nil && v.Caller != "" {
		attrs = append(attrs, slog.String("caller", name(v.Caller)))
	}
	log.LogAttrs(ctx, level, "request", attrs...)
}
