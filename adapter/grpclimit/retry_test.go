package grpclimit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

// retrying is a client with a retry policy. A backoff of minutes shows that a retry
// which comes sooner came by the pushback; one of nanoseconds that there was none.
func retrying(backoff string) grpc.DialOption {
	return grpc.WithDefaultServiceConfig(`{"methodConfig": [{
		"name": [{"service": "grpc.testing.TestService"}],
		"retryPolicy": {
			"maxAttempts": 5, "initialBackoff": "` + backoff + `", "maxBackoff": "` + backoff + `",
			"backoffMultiplier": 1, "retryableStatusCodes": ["RESOURCE_EXHAUSTED"]
		}
	}]}`)
}

// attempts counts how often a call was tried.
func attempts(n *atomic.Int64) grpclimit.KeyFunc {
	return func(context.Context, string, any) (string, error) {
		n.Add(1)
		return "a", nil
	}
}

// The clock is the real one: grpc waits by its own timers.
func TestRetryHonoursPushback(t *testing.T) {
	var n atomic.Int64
	s, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.Runtime(), "5/s burst=1"), Key: attempts(&n)}, retrying("600s"))
	require.NoError(t, unary(short(t), client))
	require.EqualValues(t, 1, n.Load())

	began := time.Now()
	require.NoError(t, unary(short(t), client), "a backoff of 600 s would not have made it")
	require.Less(t, time.Since(began), 10*time.Second)
	require.EqualValues(t, 1+2, n.Load(), "denied once, and not too early the second time")
	require.EqualValues(t, 2, s.calls.Load())
}

func TestRetryOfStreamHonoursPushback(t *testing.T) {
	var n atomic.Int64
	s, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.Runtime(), "5/s burst=1"), Key: attempts(&n)}, retrying("600s"))
	for range 2 {
		stream, err := client.FullDuplexCall(short(t))
		require.NoError(t, err)
		require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
		_, err = stream.Recv()
		require.NoError(t, err)
		require.NoError(t, stream.CloseSend())
	}
	require.EqualValues(t, 1+2, n.Load())
	require.EqualValues(t, 2, s.calls.Load())
}

func TestRetryStopsWhereItCanNeverPass(t *testing.T) {
	for _, tt := range []struct {
		limit string
		cost  int64
	}{{"deny", 1}, {"10/s", 11}} {
		var n atomic.Int64
		_, client := limited(t, grpclimit.Config{
			Gate: gateOf(t, clock.NewManual(0), tt.limit), Key: attempts(&n),
			Cost: func(context.Context, string, any) int64 { return tt.cost },
		}, retrying("0.000001s"))
		require.Equal(t, codes.ResourceExhausted, status.Code(unary(short(t), client)))
		require.EqualValues(t, 1, n.Load(), "%s: the trailer says -1", tt.limit)
	}
}

// The same client retries a bare RESOURCE_EXHAUSTED until it gives up: the tests
// above can fail.
func TestRetryWithoutPushback(t *testing.T) {
	var n atomic.Int64
	s := newService()
	addr := start(t, s, grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
		n.Add(1)
		return nil, status.Error(codes.ResourceExhausted, "")
	}))
	var calls atomic.Int64
	limit, err := grpclimit.NewClient(grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "10/h"), Key: attempts(&calls)})
	require.NoError(t, err)
	require.Error(t, unary(short(t), pb.NewTestServiceClient(dial(t, addr, retrying("0.000001s"), grpc.WithUnaryInterceptor(limit.Unary)))))
	require.EqualValues(t, 5, n.Load())
	require.EqualValues(t, 1, calls.Load(), "a client's limit counts the call once")
}

// Why the limit has to stand before everything that sets a header.
func TestRetryNeedsTrailersOnly(t *testing.T) {
	for _, first := range []bool{true, false} {
		var n atomic.Int64
		limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, clock.Runtime(), "5/s burst=1"), Key: attempts(&n)})
		require.NoError(t, err)
		sets := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			require.NoError(t, grpc.SetHeader(ctx, metadata.Pairs("x-request-id", "1")))
			return next(ctx, req)
		}
		chain := grpc.ChainUnaryInterceptor(sets, limit.Unary)
		if first {
			chain = grpc.ChainUnaryInterceptor(limit.Unary, sets)
		}
		client := pb.NewTestServiceClient(dial(t, start(t, newService(), chain), retrying("600s")))
		require.NoError(t, unary(short(t), client))
		err = unary(short(t), client)
		if first {
			require.NoError(t, err)
		} else {
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			_, ok := grpclimit.RetryAfter(err)
			require.True(t, ok, "the details arrive all the same")
		}
	}
}

// A call's deadline counts more than the pushback.
func TestRetryEndsWithDeadline(t *testing.T) {
	_, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: grpclimit.FixedKey("a")}, retrying("600s"))
	require.NoError(t, unary(short(t), client))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.Equal(t, codes.DeadlineExceeded, status.Code(unary(ctx, client)))
}
