package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const (
	unaryCall  = "/grpc.testing.TestService/UnaryCall"
	duplexCall = "/grpc.testing.TestService/FullDuplexCall"
)

// service counts what reaches its handlers, and echoes.
type service struct {
	pb.UnimplementedTestServiceServer
	calls    atomic.Int64
	received atomic.Int64
	ended    chan error // what a duplex handler saw at its end
	duplex   func(pb.TestService_FullDuplexCallServer) error
}

func newService() *service { return &service{ended: make(chan error, 64)} }

func (s *service) UnaryCall(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.calls.Add(1)
	return &pb.SimpleResponse{}, nil
}

func (s *service) FullDuplexCall(stream pb.TestService_FullDuplexCallServer) error {
	s.calls.Add(1)
	echo := s.echo
	if s.duplex != nil {
		echo = s.duplex
	}
	err := echo(stream)
	s.ended <- err
	return err
}

func (s *service) echo(stream pb.TestService_FullDuplexCallServer) error {
	for {
		switch _, err := stream.Recv(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		s.received.Add(1)
		if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
}

func (s *service) StreamingOutputCall(_ *pb.StreamingOutputCallRequest, stream pb.TestService_StreamingOutputCallServer) error {
	for range 3 {
		if err := stream.Send(&pb.StreamingOutputCallResponse{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) StreamingInputCall(stream pb.TestService_StreamingInputCallServer) error {
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{})
		} else if err != nil {
			return err
		}
	}
}

// start serves s on a loopback listener and returns its address.
func start(t *testing.T, s *service, opts ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(opts...)
	pb.RegisterTestServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient(addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// limited is a service behind a server's limits, and a client of it.
func limited(t *testing.T, cfg grpclimit.Config, opts ...grpc.DialOption) (*service, pb.TestServiceClient) {
	t.Helper()
	limit, err := grpclimit.NewServer(cfg)
	require.NoError(t, err)
	s := newService()
	addr := start(t, s, grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	return s, pb.NewTestServiceClient(dial(t, addr, opts...))
}

// gateOf has one policy for every endpoint, and the clock given.
func gateOf(t *testing.T, c clock.Clock, limits ...string) *tickgate.Gate {
	t.Helper()
	return gateFor(t, c, policy.DefaultEndpoint, limits...)
}

func gateFor(t *testing.T, c clock.Clock, endpoint string, limits ...string) *tickgate.Gate {
	t.Helper()
	p := policy.Policy{Endpoint: endpoint}
	for _, s := range limits {
		l, err := policy.ParseLimit(s)
		require.NoError(t, err)
		p.Limits = append(p.Limits, l)
	}
	g, err := tickgate.New(tickgate.Config{Policies: policy.Set{p}, Clock: c, MaxKeys: 100})
	require.NoError(t, err)
	return g
}

// as is a call's context with an apikey in its metadata, that ends with the test or
// after a while, lest a fault hangs it.
func as(t *testing.T, key string) context.Context {
	t.Helper()
	return metadata.AppendToOutgoingContext(short(t), "x-api-key", key)
}

func short(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

var byMetadata = grpclimit.MetadataKey("X-API-Key")

func unary(ctx context.Context, c pb.TestServiceClient, opts ...grpc.CallOption) error {
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{}, opts...)
	return err
}

// streamOf chains the stream interceptors of servers' limits.
func streamOf(limits ...*grpclimit.Server) grpc.ServerOption {
	var chain []grpc.StreamServerInterceptor
	for _, l := range limits {
		chain = append(chain, l.Stream)
	}
	return grpc.ChainStreamInterceptor(chain...)
}
