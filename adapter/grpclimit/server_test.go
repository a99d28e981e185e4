package grpclimit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// requireDetails requires the details of an error, in their order.
func requireDetails(t *testing.T, err error, want ...proto.Message) {
	t.Helper()
	got := status.Convert(err).Details()
	require.Len(t, got, len(want), "%v", got)
	for i := range want {
		require.True(t, proto.Equal(want[i], got[i].(proto.Message)), "want %v\n got %v", want[i], got[i])
	}
}

func TestServerDeniesWithDetailsAndPushback(t *testing.T) {
	c := clock.NewManual(0)
	s, client := limited(t, grpclimit.Config{Gate: gateOf(t, c, "100/h name=hour"), Key: byMetadata, Domain: "orders.example.com"})
	for range 100 {
		require.NoError(t, unary(as(t, "desk-7"), client))
	}
	c.Advance(1500 * time.Microsecond)

	var header, trailer metadata.MD
	err := unary(as(t, "desk-7"), client, grpc.Header(&header), grpc.Trailer(&trailer))
	require.EqualValues(t, 100, s.calls.Load(), "a denied call must not reach the handler")
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	text := `rate limit exceeded for "` + unaryCall + `", limit "hour": call again in 35.9985s`
	require.Equal(t, text, status.Convert(err).Message())
	requireDetails(t, err,
		&errdetails.RetryInfo{RetryDelay: durationpb.New(36*time.Second - 1500*time.Microsecond)},
		&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: unaryCall, Description: text, QuotaId: "hour"}}},
		&errdetails.ErrorInfo{
			Reason: "RATE_LIMIT_EXCEEDED", Domain: "orders.example.com",
			Metadata: map[string]string{"endpoint": unaryCall, "limit": "hour", "cause": "limited"},
		})
	require.Equal(t, []string{"35999"}, trailer["grpc-retry-pushback-ms"], "rounded up")
	require.NotContains(t, status.Convert(err).Proto().String(), "desk-7", "the key is told to nobody")

	wait, ok := grpclimit.RetryAfter(err)
	require.True(t, ok)
	c.Advance(wait - 1)
	require.Error(t, unary(as(t, "desk-7"), client))
	c.Advance(1)
	require.NoError(t, unary(as(t, "desk-7"), client), "exactly then it passes")
}

func TestServerKeysAndEndpointsAreIndependent(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "1/h")
	_, client := limited(t, grpclimit.Config{Gate: gate, Key: byMetadata})
	require.NoError(t, unary(as(t, "a"), client))
	require.NoError(t, unary(as(t, "b"), client))
	_, err := client.StreamingInputCall(as(t, "a"))
	require.NoError(t, err)
	require.Error(t, unary(as(t, "a"), client))
	require.False(t, gate.Allow("a", unaryCall), "the endpoint is the full method")
}

func TestServerNeverPasses(t *testing.T) {
	_, client := limited(t, grpclimit.Config{
		Gate: gateOf(t, clock.NewManual(0), "10/s"), Key: byMetadata,
		Cost: func(_ context.Context, method string, req any) int64 {
			require.Equal(t, unaryCall, method)
			return int64(req.(*pb.SimpleRequest).GetResponseSize())
		},
	})
	var trailer metadata.MD
	_, err := client.UnaryCall(as(t, "a"), &pb.SimpleRequest{ResponseSize: 11}, grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "costs more than the limit ever holds")
	require.Equal(t, []string{"-1"}, trailer["grpc-retry-pushback-ms"])
	require.Len(t, status.Convert(err).Details(), 2, "no RetryInfo")
	_, ok := grpclimit.RetryAfter(err)
	require.False(t, ok)

	_, err = client.UnaryCall(as(t, "a"), &pb.SimpleRequest{ResponseSize: 10})
	require.NoError(t, err, "nothing was taken")
}

func TestServerBlockedAndFull(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "10/s")
	_, client := limited(t, grpclimit.Config{Gate: gate, Key: byMetadata})
	gate.Block("a")
	var trailer metadata.MD
	err := unary(as(t, "a"), client, grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, ": blocked")
	require.Equal(t, []string{"-1"}, trailer["grpc-retry-pushback-ms"])
	require.NoError(t, unary(as(t, "b"), client))

	full, err := tickgate.New(tickgate.Config{Clock: clock.NewManual(0), MaxKeys: 1, OnFull: tickgate.RejectNew})
	require.NoError(t, err)
	_, client = limited(t, grpclimit.Config{Gate: full, Key: byMetadata})
	require.NoError(t, unary(as(t, "a"), client))
	err = unary(as(t, "b"), client)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "no room for another key")
}

// Health checks and cancels can be free, also for callers without a key.
func TestServerFreeCalls(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "deny")
	_, client := limited(t, grpclimit.Config{
		Gate: gate, Key: byMetadata, Cost: func(context.Context, string, any) int64 { return 0 },
	})
	require.NoError(t, unary(short(t), client))
	stream, err := client.FullDuplexCall(short(t))
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
	_, err = stream.Recv()
	require.NoError(t, err)
}

func TestServerEndpointNames(t *testing.T) {
	gate := gateFor(t, clock.NewManual(0), "orders", "1/h")
	_, client := limited(t, grpclimit.Config{
		Gate: gate, Key: byMetadata,
		Endpoint: func(method string, what grpclimit.Messages) string {
			require.Zero(t, what)
			return map[string]string{unaryCall: "orders"}[method]
		},
	})
	require.NoError(t, unary(as(t, "a"), client))
	err := unary(as(t, "a"), client)
	require.ErrorContains(t, err, `rate limit exceeded for "orders", limit "1/h"`)
}

// Interceptors outside see the decision itself.
func TestServerDeniedIsVisibleOutside(t *testing.T) {
	limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "deny name=closed"), Key: byMetadata})
	require.NoError(t, err)
	var seen atomic.Pointer[grpclimit.Denied]
	outer := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		resp, err := next(ctx, req)
		var d *grpclimit.Denied
		require.ErrorAs(t, err, &d)
		seen.Store(d)
		return resp, err
	}
	addr := start(t, newService(), grpc.ChainUnaryInterceptor(outer, limit.Unary))
	require.Error(t, unary(as(t, "a"), pb.NewTestServiceClient(dial(t, addr))))
	d := seen.Load()
	require.Equal(t, unaryCall, d.FullMethod)
	require.Equal(t, unaryCall, d.Endpoint)
	require.Equal(t, tickgate.TooCostly, d.Decision.Reason)
	require.Equal(t, "closed", d.Decision.Limit)
}

func TestServerConcurrentCallsNeverOverAdmit(t *testing.T) {
	s, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "20/h"), Key: byMetadata})
	var wg sync.WaitGroup
	var denied atomic.Int64
	for range 60 {
		wg.Go(func() {
			if status.Code(unary(as(t, "a"), client)) == codes.ResourceExhausted {
				denied.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 20, s.calls.Load())
	require.EqualValues(t, 40, denied.Load())
}

func TestServerFollowsApply(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "deny")
	_, client := limited(t, grpclimit.Config{Gate: gate, Key: byMetadata})
	require.Error(t, unary(as(t, "a"), client))
	require.NoError(t, gate.Apply(policy.Default()))
	require.NoError(t, unary(as(t, "a"), client))
}
