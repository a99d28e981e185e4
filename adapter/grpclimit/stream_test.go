package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

// exchange sends one message on a stream and waits for its echo.
func exchange(stream pb.TestService_FullDuplexCallClient) error {
	if err := stream.Send(&pb.StreamingOutputCallRequest{}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := stream.Recv()
	return err
}

func open(t *testing.T, client pb.TestServiceClient, key string) pb.TestService_FullDuplexCallClient {
	t.Helper()
	stream, err := client.FullDuplexCall(as(t, key))
	require.NoError(t, err)
	return stream
}

// byDirection counts openings, messages received and messages sent apart.
func byDirection(_ string, what grpclimit.Messages) string {
	switch what {
	case grpclimit.Received:
		return "received"
	case grpclimit.Sent:
		return "sent"
	}
	return "opened"
}

func TestStreamIsLimitedAtItsOpening(t *testing.T) {
	s, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: byMetadata})
	stream := open(t, client, "a")
	for range 50 {
		require.NoError(t, exchange(stream), "messages are not limited unless asked")
	}
	err := exchange(open(t, client, "a"))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	wait, ok := grpclimit.RetryAfter(err)
	require.True(t, ok)
	require.Equal(t, time.Hour, wait)
	require.EqualValues(t, 1, s.calls.Load())
	require.NoError(t, exchange(open(t, client, "b")))
}

func TestStreamMessages(t *testing.T) {
	const limit = 5
	for _, tt := range []struct {
		name     string
		messages grpclimit.Messages
		endpoint string // that has the policy; no other has one
		received int64  // by the handler
		replies  int
	}{
		{"received", grpclimit.Received, "received", limit, limit},
		{"sent", grpclimit.Sent, "sent", limit + 1, limit},
		{"received of both", grpclimit.Received | grpclimit.Sent, "received", limit, limit},
		{"sent of both", grpclimit.Received | grpclimit.Sent, "sent", limit + 1, limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clock.NewManual(0)
			s, client := limited(t, grpclimit.Config{
				Gate: gateFor(t, c, tt.endpoint, "5/h"), Key: byMetadata, Messages: tt.messages,
				Endpoint: byDirection, OnFault: grpclimit.FailOpen, // the other endpoints are not limited
			})
			stream := open(t, client, "a")
			for i := range tt.replies {
				require.NoError(t, exchange(stream), "message %d", i)
			}
			err := exchange(stream)
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			wait, ok := grpclimit.RetryAfter(err)
			require.True(t, ok, "the details arrive also after messages were exchanged")
			require.Equal(t, 12*time.Minute, wait)
			require.Equal(t, tt.received, s.received.Load())
			require.Equal(t, []string{"720000"}, stream.Trailer()["grpc-retry-pushback-ms"])
			require.Equal(t, codes.ResourceExhausted, status.Code(<-s.ended))

			require.NoError(t, exchange(open(t, client, "b")), "another key")
			c.Advance(wait)
			stream = open(t, client, "a")
			require.NoError(t, exchange(stream), "and the same key, later")
			require.Error(t, exchange(stream))
		})
	}
}

// Without Endpoint the opening and the messages share the tokens; Cost tells them
// apart.
func TestStreamCosts(t *testing.T) {
	for _, opening := range []int64{0, 1} {
		_, client := limited(t, grpclimit.Config{
			Gate: gateOf(t, clock.NewManual(0), "10/h"), Key: byMetadata, Messages: grpclimit.Received,
			Cost: func(_ context.Context, method string, req any) int64 {
				require.Equal(t, duplexCall, method)
				if req == nil {
					return opening
				}
				return int64(len(req.(*pb.StreamingOutputCallRequest).GetPayload().GetBody()))
			},
		})
		stream := open(t, client, "a")
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{Payload: &pb.Payload{Body: make([]byte, 9)}}))
		_, err := stream.Recv()
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{Payload: &pb.Payload{Body: make([]byte, 1)}}))
		_, err = stream.Recv()
		require.Equal(t, opening == 1, status.Code(err) == codes.ResourceExhausted, "%v", err)
	}
}

func TestStreamOfResponses(t *testing.T) {
	_, client := limited(t, grpclimit.Config{
		Gate: gateFor(t, clock.NewManual(0), "sent", "2/h"), Key: byMetadata, Messages: grpclimit.Sent,
		Endpoint: byDirection, OnFault: grpclimit.FailOpen,
	})
	stream, err := client.StreamingOutputCall(as(t, "a"), &pb.StreamingOutputCallRequest{})
	require.NoError(t, err)
	for range 2 {
		_, err = stream.Recv()
		require.NoError(t, err)
	}
	_, err = stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
}

// A handler may go on after a denial: the message is dropped, and the trailer, which
// is for denied calls, is not sent.
func TestStreamHandlerGoesOn(t *testing.T) {
	c := clock.NewManual(0)
	limit, err := grpclimit.NewServer(grpclimit.Config{
		Gate: gateFor(t, c, "received", "1/h"), Key: byMetadata, Messages: grpclimit.Received,
		Endpoint: byDirection, OnFault: grpclimit.FailOpen,
	})
	require.NoError(t, err)
	s := newService()
	s.duplex = func(stream pb.TestService_FullDuplexCallServer) error {
		for {
			in, err := stream.Recv()
			var d *grpclimit.Denied
			switch {
			case errors.As(err, &d):
				require.Nil(t, in)
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			out := &pb.StreamingOutputCallResponse{Payload: &pb.Payload{}}
			if d != nil {
				out.Payload.Body = []byte("slow down")
			}
			if err := stream.Send(out); err != nil {
				return err
			}
		}
	}
	stream := open(t, pb.NewTestServiceClient(dial(t, start(t, s, streamOf(limit)))), "a")
	for i := range 4 {
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
		got, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, i > 0, string(got.GetPayload().GetBody()) == "slow down")
	}
	require.NoError(t, stream.CloseSend())
	_, err = stream.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Empty(t, stream.Trailer()["grpc-retry-pushback-ms"])
}

// Two limits in a row send one pushback, or clients would not retry.
func TestStreamBehindTwoLimits(t *testing.T) {
	c := clock.NewManual(0)
	outer, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, c, "100/h"), Key: byMetadata, Messages: grpclimit.Received})
	require.NoError(t, err)
	inner, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, c, "1/h"), Key: byMetadata, Messages: grpclimit.Received})
	require.NoError(t, err)
	client := pb.NewTestServiceClient(dial(t, start(t, newService(), streamOf(outer, inner))))
	for range 2 {
		stream := open(t, client, "a")
		require.Equal(t, codes.ResourceExhausted, status.Code(exchange(stream)))
		require.Equal(t, []string{"3600000"}, stream.Trailer()["grpc-retry-pushback-ms"])
	}
}
