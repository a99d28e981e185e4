package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func isDenied(err error, d **grpclimit.Denied) bool { return errors.As(err, d) }

// bubbleClock is the time of a synctest bubble, which moves on when everybody in it
// waits.
type bubbleClock struct{ start time.Time }

func (c bubbleClock) Now() clock.Time { return clock.Time(time.Since(c.start)) }

// waiting is a client that waits, with a gate in a bubble. Its calls are not sent
// anywhere: they are written down.
type waiting struct {
	*grpclimit.Client
	gate *tickgate.Gate
	bubbleClock

	mu   sync.Mutex
	sent []time.Duration
}

func newWaiting(t *testing.T, onFull tickgate.OnFull, limit string) *waiting {
	t.Helper()
	w := &waiting{bubbleClock: bubbleClock{time.Now()}}
	l, err := policy.ParseLimit(limit)
	require.NoError(t, err)
	w.gate, err = tickgate.New(tickgate.Config{
		Policies: policy.Set{{Endpoint: "default", Limits: []policy.Limit{l}}},
		Clock:    w.bubbleClock, Wall: clock.NewManualWall(0), MaxKeys: 1, OnFull: onFull,
	})
	require.NoError(t, err)
	w.Client, err = grpclimit.NewClient(grpclimit.Config{
		Gate: w.gate, Wait: true,
		Key:  func(_ context.Context, _ string, req any) (string, error) { return req.(string), nil },
		Cost: func(ctx context.Context, _ string, _ any) int64 { n, _ := ctx.Value(costs{}).(int64); return n },
	})
	require.NoError(t, err)
	return w
}

type costs struct{}

func (w *waiting) call(ctx context.Context, key string, n int64) error {
	send := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, time.Since(w.start))
		return nil
	}
	return w.Unary(context.WithValue(ctx, costs{}, n), unaryCall, key, nil, nil, send)
}

func TestWaitTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.EvictIdle, "10/s burst=2")
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() { require.NoError(t, w.call(t.Context(), "venue", 1)) })
		}
		wg.Wait()
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 0, 100 * ms, 200 * ms, 300 * ms, 400 * ms}, w.sent)
	})
}

func TestWaitDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.EvictIdle, "1/m name=minute")
		require.NoError(t, w.call(t.Context(), "venue", 1))

		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		err := w.call(ctx, "venue", 1)
		require.Zero(t, time.Since(w.start), "it does not wait for nothing")
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.EqualError(t, err, `rate limit exceeded for "`+unaryCall+`", limit "minute": the tokens are not there before the deadline`)
		_, ok := grpclimit.RetryAfter(err)
		require.False(t, ok)

		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, w.call(ctx, "venue", 1))
		require.Equal(t, time.Minute, time.Since(w.start))
		require.Len(t, w.sent, 2)
	})
}

func TestWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.EvictIdle, "1/m")
		require.NoError(t, w.call(t.Context(), "venue", 1))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(10 * time.Second)
			cancel()
		}()
		err := w.call(ctx, "venue", 1)
		require.Equal(t, codes.Canceled, status.Code(err))
		require.Equal(t, 10*time.Second, time.Since(w.start))
		require.NoError(t, w.call(t.Context(), "venue", 1), "it has taken nothing")
		require.Equal(t, time.Minute, time.Since(w.start))

		w.gate.Block("venue")
		require.ErrorContains(t, w.call(t.Context(), "venue", 1), ": blocked")
	})
}

// A key is pinned as long as somebody waits for it, and no longer.
func TestWaitPinsNoKeyForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.EvictIdle, "1/m")
		require.NoError(t, w.call(t.Context(), "venue", 1))
		var wg sync.WaitGroup
		wg.Go(func() { require.NoError(t, w.call(t.Context(), "venue", 1)) })
		wg.Go(func() { require.NoError(t, w.call(t.Context(), "venue", 1)) })
		synctest.Wait()
		require.Equal(t, codes.ResourceExhausted, status.Code(w.call(t.Context(), "other", 1)), "there is room for one key")
		wg.Wait()
		require.NoError(t, w.call(t.Context(), "other", 1))
	})
}

func TestWaitIsNoUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.RejectNew, "10/s")
		err := w.call(t.Context(), "venue", 11)
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.ErrorContains(t, err, "costs more than the limit ever holds")

		require.NoError(t, w.call(t.Context(), "venue", 10))
		var d *grpclimit.Denied
		require.True(t, isDenied(w.call(t.Context(), "other", 1), &d))
		require.Equal(t, tickgate.Full, d.Decision.Reason)
		require.Zero(t, time.Since(w.start))
	})
}

// More wait for one key than it can have handles.
func TestWaitOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t, tickgate.EvictIdle, "10000/s burst=1")
		var wg sync.WaitGroup
		for range 9000 {
			wg.Go(func() { require.NoError(t, w.call(t.Context(), "venue", 1)) })
		}
		wg.Wait()
		require.Len(t, w.sent, 9000)
		require.Equal(t, 8999*100*time.Microsecond, time.Since(w.start))
	})
}

// Over a real connection, on the real clock.
func TestWaitOverTheWire(t *testing.T) {
	s, client := limiting(t, grpclimit.Config{
		Gate: gateOf(t, clock.Runtime(), "20/s burst=1"), Key: grpclimit.FixedKey("venue"), Wait: true,
		Messages: grpclimit.Sent, Endpoint: byDirection,
	})
	began := time.Now()
	stream, err := client.FullDuplexCall(short(t))
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, exchange(stream))
	}
	require.GreaterOrEqual(t, time.Since(began), 100*time.Millisecond)
	require.EqualValues(t, 3, s.received.Load())
}

// One who waits to send on a stream that ends meanwhile is told so, as by grpc.
func TestWaitEndsWithTheStream(t *testing.T) {
	gate := gateFor(t, clock.Runtime(), "sent", "1/h")
	limit, err := grpclimit.NewClient(grpclimit.Config{
		Gate: gate, Key: grpclimit.FixedKey("venue"), Wait: true,
		Messages: grpclimit.Sent, Endpoint: byDirection, OnFault: grpclimit.FailOpen,
	})
	require.NoError(t, err)
	s := newService()
	hangUp := make(chan struct{})
	s.duplex = func(pb.TestService_FullDuplexCallServer) error {
		<-hangUp
		return status.Error(codes.Unavailable, "going away")
	}
	client := pb.NewTestServiceClient(dial(t, start(t, s), grpc.WithStreamInterceptor(limit.Stream)))
	// No deadline, or it would not wait; but an end, lest a fault hangs the test.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	defer time.AfterFunc(20*time.Second, cancel).Stop()
	stream, err := client.FullDuplexCall(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.StreamingOutputCallRequest{}))
	sent := make(chan error)
	go func() { sent <- stream.Send(&pb.StreamingOutputCallRequest{}) }()
	close(hangUp)
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorIs(t, <-sent, io.EOF)
	require.NoError(t, ctx.Err(), "and at once")
	_, err = stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
}
