package grpclimit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

// limiter is the interface of go-grpc-middleware v2.
type limiter interface {
	Limit(ctx context.Context) error
}

var _ limiter = (*grpclimit.Server)(nil)

// middleware does what that module's server interceptors do with a limiter: it makes
// a status of its own of the error's text.
func middleware(l limiter) []grpc.ServerOption {
	refuse := func(method string, err error) error {
		return status.Errorf(codes.ResourceExhausted, "%s is rejected: %s", method, err)
	}
	return []grpc.ServerOption{
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := l.Limit(ctx); err != nil {
				return nil, refuse(info.FullMethod, err)
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := l.Limit(ss.Context()); err != nil {
				return refuse(info.FullMethod, err)
			}
			return next(srv, ss)
		}),
	}
}

func TestLimit(t *testing.T) {
	limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: byMetadata})
	require.NoError(t, err)
	s := newService()
	client := pb.NewTestServiceClient(dial(t, start(t, s, middleware(limit)...)))

	require.NoError(t, unary(as(t, "a"), client))
	var trailer metadata.MD
	err = unary(as(t, "a"), client, grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "call again in 1h0m0s")
	require.Empty(t, status.Convert(err).Details(), "the details are lost, as documented")
	require.Equal(t, []string{"3600000"}, trailer["grpc-retry-pushback-ms"], "the pushback is not")

	require.NoError(t, exchange(open(t, client, "a")), "the endpoint is the method")
	stream := open(t, client, "a")
	require.Equal(t, codes.ResourceExhausted, status.Code(exchange(stream)))
	require.Equal(t, []string{"3600000"}, stream.Trailer()["grpc-retry-pushback-ms"])
	require.EqualValues(t, 2, s.calls.Load())
}

func TestLimitFaults(t *testing.T) {
	limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: keyError(errLookup)})
	require.NoError(t, err)
	client := pb.NewTestServiceClient(dial(t, start(t, newService(), middleware(limit)...)))
	err = unary(short(t), client)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "that is what the interceptors make of it")
	require.ErrorContains(t, err, "could not be checked")
	require.NotContains(t, err.Error(), "secret", "the text goes to the caller")

	err = limit.Limit(t.Context())
	require.Equal(t, codes.Internal, status.Code(err), "not a server's context")
}
