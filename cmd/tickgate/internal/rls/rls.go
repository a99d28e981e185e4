// Package rls serves Envoy's rate limit service over gRPC, with health checks, and tells
// of what it denied.
package rls

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
)

// Config says what is served.
type Config struct {
	Paths   []string // files of limits, and folders of such
	MaxKeys int      // as tickgate.Config has it
	Headers bool     // answers add headers to the response, envoyrls.DefaultHeaders
	Audit   func(tickgate.Change)

	// Denied is told of every key that was over its limit, or is blocked, by the version of
	// the files. apikey and endpoint are the gate's. nil: nobody is told.
	Denied func(version, apikey, endpoint string, n int64, d *tickgate.Decision)
}

// Source is what the files are called where it is told who changed something.
const Source = "rls"

// Service is Envoy's rate limit service. Make one with [New].
type Service struct {
	cfg    Config
	limits *envoyrls.Server
}

// New reads the files and makes the service and its gate. It reports every fault.
func New(cfg Config) (*Service, error) {
	files, err := envoyrls.Read(cfg.Paths...)
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg}
	own := envoyrls.Config{Gate: tickgate.Config{MaxKeys: cfg.MaxKeys, Audit: cfg.Audit}, Source: Source}
	if cfg.Denied != nil {
		own.Denied = s.denied
	}
	if cfg.Headers {
		own.Headers = envoyrls.DefaultHeaders()
	}
	if s.limits, err = envoyrls.New(own, files...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Service) denied(d *envoyrls.Denial) {
	s.cfg.Denied(s.InForce(), d.APIKey, d.Endpoint, d.Hits, &tickgate.Decision{Reason: d.Reason, Limit: d.Limit, RetryAfter: d.RetryAfter})
}

// Gate returns the gate, for its statistics, and to block keys.
func (s *Service) Gate() *tickgate.Gate { return s.limits.Gate() }

// Reload reads the files again. On a fault those of before stay in force.
func (s *Service) Reload() (version string, err error) {
	err = s.limits.Load(s.cfg.Paths...)
	return s.Version(), err
}

// Version counts the sets of files that were in force. It waits for no reading.
func (s *Service) Version() string { return strconv.FormatUint(s.limits.Version(), 10) }

// InForce is the version with what it is of, as in "rls@3".
func (s *Service) InForce() string { return Source + "@" + s.Version() }

// Bounds on what a client can hold on to.
const (
	maxMessage = 1 << 20
	maxStreams = 1000
	handshake  = 10 * time.Second
	leastPing  = 5 * time.Second
)

// Server says how a Service is served.
type Server struct {
	TLS             *tls.Config // nil: plain
	IdleTimeout     time.Duration
	ShutdownTimeout time.Duration
	Log             *slog.Logger
}

// Serve serves until ctx is done, lets calls under way end for at most ShutdownTimeout,
// and closes the listener.
func (s *Service) Serve(ctx context.Context, listener net.Listener, cfg Server) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: cfg.IdleTimeout}),
		grpc.UnaryInterceptor(labelled),
	}
	if cfg.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(cfg.TLS)))
	}
	server := grpc.NewServer(options...)
	ratelimitv3.RegisterRateLimitServiceServer(server, s.limits)
	checks := health.NewServer()
	healthv1.RegisterHealthServer(server, checks)

	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	cfg.Log.Info("serving Envoy", "address", listener.Addr().String(), "tls", cfg.TLS != nil)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	cfg.Log.Info("shutting down Envoy", "at most", cfg.ShutdownTimeout)
	checks.Shutdown()
	late := time.AfterFunc(cfg.ShutdownTimeout, server.Stop)
	server.GracefulStop()
	if !late.Stop() {
		return fmt.Errorf("calls may have been cut off at the end, which took longer than the %v of the shutdown", cfg.ShutdownTimeout)
	}
	return nil
}
