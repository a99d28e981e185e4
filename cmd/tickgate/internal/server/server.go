// Package server runs an HTTP handler until it is told to end: with bounds on what a
// client can hold on to, over TLS or not, and so that requests under way end in order.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config says how a handler is served. All durations but ShutdownTimeout must be above
// zero.
type Config struct {
	Handler http.Handler

	// Name tells the server from others of the process in the log: "serving" and the
	// name. "" is the one that the process is for.
	Name string

	// TLS serves HTTPS, with HTTP/2 for clients that speak it. nil: plain HTTP.
	TLS *tls.Config

	// MaxHeader is the longest header of a request, in bytes, which net/http rounds up
	// by 4 KiB; a longer one is answered with 431.
	MaxHeader int

	// ReadTimeout is how long a request may take to come, its body included.
	// WriteTimeout is how long a client may take for one part of an answer, so that an
	// answer that goes on and on is not cut. IdleTimeout is how long a connection may
	// wait for its next request.
	ReadTimeout, WriteTimeout, IdleTimeout time.Duration

	// Short says that answers are made at once and sent in one piece: WriteTimeout is
	// for all of it then, which costs a request less.
	Short bool

	// ShutdownTimeout is how long requests may go on when the server is to end.
	ShutdownTimeout time.Duration

	// Workers run beside the server. Their context is done after the last request.
	Workers []func(context.Context)

	// Log is told of the beginning and the end, and of what net/http complains about.
	Log *slog.Logger
}

// Run serves what comes to listener until ctx is done. Then it takes no more requests,
// lets those under way end for at most ShutdownTimeout, stops the workers and waits for
// them. It returns nil after an end in order, and an error if it could not serve, or if
// requests were cut off. Connections that were upgraded, as to WebSocket, are waited
// for too, but do not end by themselves: to cut them is no error.
//
// A handler that was cut off may still run when Run returns; its context is done.
func Run(ctx context.Context, listener net.Listener, cfg Config) error {
	own := context.WithoutCancel(ctx)
	base, cut := context.WithCancel(own)
	defer cut()
	under := newFlights()
	handler, whole := cfg.Handler, cfg.WriteTimeout
	if !cfg.Short {
		handler, whole = pace(cfg.WriteTimeout, cfg.Handler), 0
	}
	server := &http.Server{
		Handler:        under.count(handler),
		WriteTimeout:   whole,
		TLSConfig:      cfg.TLS,
		ReadTimeout:    cfg.ReadTimeout,
		IdleTimeout:    cfg.IdleTimeout,
		MaxHeaderBytes: cfg.MaxHeader,
		BaseContext:    func(net.Listener) context.Context { return base },
		ErrorLog:       complaints(cfg.Log),

		// "OPTIONS *" is a request as any other: for the handler, with its key and limit.
		DisableGeneralOptionsHandler: true,
	}
	working, stop := context.WithCancel(own)
	var workers sync.WaitGroup
	for _, work := range cfg.Workers {
		workers.Go(func() { work(working) })
	}
	defer workers.Wait()
	defer stop()

	listener = lazy{listener, max(0, cfg.IdleTimeout-cfg.ReadTimeout)}
	ended := make(chan error, 1)
	go func() {
		if cfg.TLS != nil {
			ended <- server.ServeTLS(listener, "", "")
		} else {
			ended <- server.Serve(listener)
		}
	}()
	cfg.Log.Info(strings.TrimSpace("serving "+cfg.Name), "address", listener.Addr().String(), "tls", cfg.TLS != nil)
	select {
	case err := <-ended:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	cfg.Log.Info(strings.TrimSpace("shutting down "+cfg.Name), "requests", under.number(), "at most", cfg.ShutdownTimeout)
	limit, done := context.WithTimeout(own, cfg.ShutdownTimeout)
	defer done()
	if err := server.Shutdown(limit); err != nil {
		n := under.number()
		_ = server.Close() // the listener, which Shutdown closed already
		return fmt.Errorf("requests cut off at the end: %d, which took longer than the %v of the shutdown", n, cfg.ShutdownTimeout)
	}
	if !under.wait(limit) {
		cfg.Log.Info("upgraded connections are cut off", "connections", under.number())
	}
	return nil
}
