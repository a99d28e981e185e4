package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tickgate/tickgate/examples/memoryapi/memory"
)

// Bounds on what a client can hold on to.
const (
	headerTime   = 5 * time.Second
	requestTime  = 30 * time.Second
	responseTime = 60 * time.Second // from the header's end: the body is in it
	idleTime     = 2 * time.Minute
	headerBytes  = 16 << 10

	// shutdownTime is how long requests may go on when the program is to end.
	shutdownTime = 10 * time.Second
)

// serve serves until ctx is done. Then it takes no more requests, lets those under way
// end, and carries out every job that was accepted.
func serve(ctx context.Context, listener net.Listener, service *memory.Service, log *slog.Logger) error {
	server := &http.Server{
		Handler:           service,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      responseTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,

		DisableGeneralOptionsHandler: true, // "OPTIONS *" has no key either

		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	var worker sync.WaitGroup
	worker.Go(func() { service.Run(working) })
	defer worker.Wait()
	defer stop() // after the server, so that no job comes when the worker has gone

	log.Info("serving", "address", listener.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	log.Info("shutting down", "at most", shutdownTime)
	limit, done := context.WithTimeout(working, shutdownTime)
	defer done()
	if err := server.Shutdown(limit); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
