package grpclimit_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

// limiting is a service without limits, and a client that limits itself.
func limiting(t *testing.T, cfg grpclimit.Config) (*service, pb.TestServiceClient) {
	t.Helper()
	limit, err := grpclimit.NewClient(cfg)
	require.NoError(t, err)
	s := newService()
	return s, pb.NewTestServiceClient(dial(t, start(t, s),
		grpc.WithUnaryInterceptor(limit.Unary), grpc.WithStreamInterceptor(limit.Stream)))
}

func TestClientFailsFast(t *testing.T) {
	c := clock.NewManual(0)
	s, client := limiting(t, grpclimit.Config{Gate: gateOf(t, c, "2/h"), Key: grpclimit.FixedKey("venue")})
	require.NoError(t, unary(short(t), client))
	require.NoError(t, unary(short(t), client))
	err := unary(short(t), client)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.EqualValues(t, 2, s.calls.Load(), "nothing is sent")
	wait, ok := grpclimit.RetryAfter(err)
	require.True(t, ok)
	require.Equal(t, 30*time.Minute, wait)
	var d *grpclimit.Denied
	require.ErrorAs(t, err, &d, "the client's own limit, not the server's")
	require.Equal(t, tickgate.Limited, d.Decision.Reason)
	c.Advance(wait)
	require.NoError(t, unary(short(t), client))
}

func TestClientFaults(t *testing.T) {
	for _, tt := range faults {
		for _, wait := range []bool{false, true} {
			s, client := limiting(t, grpclimit.Config{
				Gate: gateFor(t, clock.Runtime(), tt.set, "10/s"), Key: tt.key, Wait: wait,
				Cost: func(context.Context, string, any) int64 { return tt.cost },
			})
			err := unary(short(t), client)
			require.Equal(t, tt.code, status.Code(err), tt.name)
			require.ErrorIs(t, err, tt.is)
			_, err = client.FullDuplexCall(short(t))
			require.Equal(t, tt.code, status.Code(err), tt.name)
			require.Zero(t, s.calls.Load())
		}
	}
}

func TestClientStreamOpening(t *testing.T) {
	s, client := limiting(t, grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: grpclimit.FixedKey("venue")})
	stream, err := client.FullDuplexCall(short(t))
	require.NoError(t, err)
	for range 20 {
		require.NoError(t, exchange(stream))
	}
	_, err = client.FullDuplexCall(short(t))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.EqualValues(t, 1, s.calls.Load())
}

// A denied message ends the stream on both sides: grpc's callers do not look after
// a stream of which a call failed.
func TestClientStreamMessages(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		received int64 // by the server
	}{{"sent", 3}, {"received", 4}} {
		t.Run(tt.endpoint, func(t *testing.T) {
			s, client := limiting(t, grpclimit.Config{
				Gate: gateFor(t, clock.NewManual(0), tt.endpoint, "3/h"), Key: grpclimit.FixedKey("venue"),
				Messages: grpclimit.Received | grpclimit.Sent, Endpoint: byDirection, OnFault: grpclimit.FailOpen,
			})
			ctx := short(t)
			stream, err := client.FullDuplexCall(ctx)
			require.NoError(t, err)
			for range 3 {
				require.NoError(t, exchange(stream))
			}
			err = exchange(stream)
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.Equal(t, codes.Canceled, status.Code(<-s.ended), "the server is told")
			require.NoError(t, ctx.Err(), "by the denial, not by the context's end")
			require.Equal(t, tt.received, s.received.Load())

			require.Equal(t, err, stream.Send(&pb.StreamingOutputCallRequest{}))
			_, again := stream.Recv()
			require.Equal(t, err, again, "from then on the same")
		})
	}
}

// One who waits to receive hears of a denied message too, and not that somebody
// cancelled.
func TestClientStreamDenialReachesReceiver(t *testing.T) {
	limit, err := grpclimit.NewClient(grpclimit.Config{
		Gate: gateFor(t, clock.NewManual(0), "sent", "deny"), Key: grpclimit.FixedKey("venue"),
		Messages: grpclimit.Sent, Endpoint: byDirection, OnFault: grpclimit.FailOpen,
	})
	require.NoError(t, err)
	s := newService()
	opened := make(chan struct{})
	s.duplex = func(stream pb.TestService_FullDuplexCallServer) error {
		close(opened)
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	client := pb.NewTestServiceClient(dial(t, start(t, s), grpc.WithStreamInterceptor(limit.Stream)))
	stream, err := client.FullDuplexCall(short(t))
	require.NoError(t, err)
	received := make(chan error)
	go func() {
		_, err := stream.Recv()
		received <- err
	}()
	<-opened
	err = stream.Send(&pb.StreamingOutputCallRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, err, <-received)
}

// A stream that ends by itself, or whose caller cancels it, says what grpc says.
func TestClientStreamEnds(t *testing.T) {
	cfg := grpclimit.Config{
		Gate: gateOf(t, clock.NewManual(0), "100/h"), Key: grpclimit.FixedKey("venue"),
		Messages: grpclimit.Received | grpclimit.Sent,
	}
	_, client := limiting(t, cfg)

	stream, err := client.FullDuplexCall(short(t))
	require.NoError(t, err)
	require.NoError(t, exchange(stream))
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)

	up, err := client.StreamingInputCall(short(t))
	require.NoError(t, err)
	require.NoError(t, up.Send(&pb.StreamingInputCallRequest{}))
	_, err = up.CloseAndRecv()
	require.NoError(t, err)

	down, err := client.StreamingOutputCall(short(t), &pb.StreamingOutputCallRequest{})
	require.NoError(t, err)
	for range 3 {
		_, err = down.Recv()
		require.NoError(t, err)
	}
	_, err = down.Recv()
	require.ErrorIs(t, err, io.EOF)

	ctx, cancel := context.WithCancel(short(t))
	stream, err = client.FullDuplexCall(ctx)
	require.NoError(t, err)
	require.NoError(t, exchange(stream))
	cancel()
	_, err = stream.Recv()
	require.Equal(t, codes.Canceled, status.Code(err))

	// A stream that is over costs nothing more.
	before := cfg.Gate.Take("venue", duplexCall, 0).Remaining
	require.ErrorIs(t, stream.Send(&pb.StreamingOutputCallRequest{}), io.EOF)
	require.Equal(t, before, cfg.Gate.Take("venue", duplexCall, 0).Remaining)
}

// A client and a server that both limit: each error says whose it is.
func TestClientOfLimitedServer(t *testing.T) {
	c := clock.NewManual(0)
	limit, err := grpclimit.NewClient(grpclimit.Config{Gate: gateOf(t, c, "2/h"), Key: grpclimit.FixedKey("venue"), Domain: "me"})
	require.NoError(t, err)
	_, client := limited(t, grpclimit.Config{Gate: gateOf(t, c, "1/h"), Key: byMetadata}, grpc.WithUnaryInterceptor(limit.Unary))
	require.NoError(t, unary(as(t, "a"), client))
	for _, own := range []bool{false, true} {
		err := unary(as(t, "a"), client)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		var d *grpclimit.Denied
		require.Equal(t, own, isDenied(err, &d))
	}
}
