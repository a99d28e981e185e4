package grpclimit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

func TestHostileMetadata(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  grpclimit.KeyFunc
		md   []string
		code codes.Code
	}{
		{"none", byMetadata, nil, codes.Internal},
		{"empty", byMetadata, []string{"x-api-key", ""}, codes.Internal},
		{"upper case", byMetadata, []string{"X-API-KEY", "a"}, codes.OK},
		{"two", byMetadata, []string{"x-api-key", "a", "x-api-key", "b"}, codes.InvalidArgument},
		{"the same twice", byMetadata, []string{"x-api-key", "a", "X-Api-Key", "a"}, codes.InvalidArgument},
		{"a thousand", byMetadata, strings.Split(strings.Repeat("x-api-key,a,", 999)+"x-api-key,a", ","), codes.InvalidArgument},
		{"256 bytes", byMetadata, []string{"x-api-key", strings.Repeat("k", 256)}, codes.OK},
		{"257 bytes", byMetadata, []string{"x-api-key", strings.Repeat("k", 257)}, codes.InvalidArgument},
		{"10 kB", byMetadata, []string{"x-api-key", strings.Repeat("k", 10_000)}, codes.InvalidArgument},
		{"any bytes", grpclimit.MetadataKey("key-bin"), []string{"key-bin", "\x00\r\n\xff\xfe: injected"}, codes.OK},
		{"long bytes", grpclimit.MetadataKey("key-bin"), []string{"key-bin", strings.Repeat("\x00", 10_000)}, codes.InvalidArgument},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gate := gateOf(t, clock.NewManual(0), "1/h")
			s, client := limited(t, grpclimit.Config{Gate: gate, Key: tt.key})
			ctx := metadata.AppendToOutgoingContext(short(t), tt.md...)
			err := unary(ctx, client)
			require.Equal(t, tt.code, status.Code(err), "%v", err)
			require.Equal(t, tt.code == codes.OK, s.calls.Load() == 1)
			require.NotContains(t, status.Convert(err).Message(), "kkk")

			// Not a way around the limit, and no other caller's tokens.
			err = unary(ctx, client)
			require.Error(t, err)
			if tt.code == codes.OK {
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
			}
			require.True(t, gate.Allow("b", unaryCall))
		})
	}
}

// Keys that differ in what a careless reader would drop are different callers.
func TestHostileKeysStayApart(t *testing.T) {
	_, client := limited(t, grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/h"), Key: grpclimit.MetadataKey("key-bin")})
	for _, key := range []string{"a", "A", "a\x00", "a\x00b", "a\r\n", "\xff", "\xfe"} {
		ctx := metadata.AppendToOutgoingContext(short(t), "key-bin", key)
		require.NoError(t, unary(ctx, client), "%q", key)
		require.Error(t, unary(ctx, client), "%q", key)
	}
}

// More keys than the gate holds: they come and go, and its memory stays.
func TestHostileKeyFlood(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "1/h")
	_, client := limited(t, grpclimit.Config{Gate: gate, Key: byMetadata})
	for i := range 500 {
		require.NoError(t, unary(as(t, strings.Repeat("k", i%250+1)+string(rune('a'+i/250))), client))
	}
	require.LessOrEqual(t, gate.Stats().Size, 100)
}

// Behind an unknown-service handler the method is whatever the caller says.
func TestHostileMethods(t *testing.T) {
	c := clock.NewManual(0)
	limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gateOf(t, c, "1/h"), Key: byMetadata})
	require.NoError(t, err)
	addr := start(t, newService(), grpc.StreamInterceptor(limit.Stream),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			return stream.SendMsg(&emptypb.Empty{})
		}))
	cc := dial(t, addr)
	call := func(ctx context.Context, method string) error {
		return cc.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{})
	}
	for _, method := range []string{"/no.Such/Method", "/\xff\xfe/\xc3\x28", "/a/\u2028\"quoted\"%s"} {
		require.NoError(t, call(as(t, "a"), method), "%q", method)
		err := call(as(t, "a"), method)
		require.Equal(t, codes.ResourceExhausted, status.Code(err), "%q: %v", method, err)
		details := status.Convert(err).Details()
		require.Len(t, details, 3, "%q: not lost to bytes that are not UTF-8", method)
		require.IsType(t, &errdetails.QuotaFailure{}, details[1])
		require.Equal(t, strings.ToValidUTF8(method, "\uFFFD"), details[1].(*errdetails.QuotaFailure).Violations[0].Subject)
		require.NotContains(t, status.Convert(err).Message(), "\u2028")
	}
	long := "/s/" + strings.Repeat("m", 10_000)
	err = call(as(t, "a"), long)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.NotContains(t, err.Error(), "mmm")
}

// Without such a handler they do not get as far as the limit.
func TestHostileMethodsUnknown(t *testing.T) {
	gate := gateOf(t, clock.NewManual(0), "1/h")
	limit, err := grpclimit.NewServer(grpclimit.Config{Gate: gate, Key: byMetadata})
	require.NoError(t, err)
	cc := dial(t, start(t, newService(), grpc.StreamInterceptor(limit.Stream), grpc.UnaryInterceptor(limit.Unary)))
	err = cc.Invoke(as(t, "a"), "/no.Such/Method", &pb.Empty{}, &pb.Empty{})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.Zero(t, gate.Stats().Size)
}
