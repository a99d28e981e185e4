package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// serve serves on loopback until ctx is done, and prints where.
//
// Servers have no time-outs but for take-timed: each would cost the bare handler a system call or a
// timer for every request, and make what stands before it look cheap. Nobody but this
// machine can reach it.
func serve(ctx context.Context, s *service, port int, stdout io.Writer) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.mux}
	if s.kind == takeTimed {
		setTimeouts(server)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Fprintf(stdout, "%s listens on http://%s\n", s.kind, l.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(late); err != nil {
		_ = server.Close() // whoever still waits for an answer does so in vain
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
