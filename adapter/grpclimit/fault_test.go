package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

var errLookup = errors.New("looking up secret-token-1: connection refused")

func keyError(err error) grpclimit.KeyFunc {
	return func(context.Context, string, any) (string, error) { return "", err }
}

// faults are calls that cannot be decided, and what becomes of them by default.
var faults = []struct {
	name string
	key  grpclimit.KeyFunc
	cost int64
	set  string // the only endpoint that has a policy
	code codes.Code
	is   error
}{
	{"no key", grpclimit.FixedKey(""), 1, "default", codes.Internal, grpclimit.ErrNoKey},
	{"no metadata", byMetadata, 1, "default", codes.Internal, grpclimit.ErrNoKey},
	{"key fails", keyError(errLookup), 1, "default", codes.Internal, errLookup},
	{"key fails with OK", keyError(okError{}), 1, "default", codes.Internal, okError{}},
	{"no policy", grpclimit.FixedKey("a"), 1, "other", codes.Internal, tickgate.ErrNoPolicy},
	{"long key", grpclimit.FixedKey(strings.Repeat("k", 257)), 1, "default", codes.InvalidArgument, tickgate.ErrKey},
	{"negative cost", grpclimit.FixedKey("a"), -1, "default", codes.InvalidArgument, tickgate.ErrCost},
}

// okError claims a status that is no error.
type okError struct{}

func (okError) Error() string              { return "fine" }
func (okError) GRPCStatus() *status.Status { return status.New(codes.OK, "") }

func TestFaults(t *testing.T) {
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			var mu sync.Mutex
			var seen []*grpclimit.Fault
			answer := grpclimit.FailClosed
			cfg := grpclimit.Config{
				Gate: gateFor(t, clock.NewManual(0), tt.set, "10/s"), Key: tt.key,
				Cost: func(context.Context, string, any) int64 { return tt.cost },
				OnFault: func(ctx context.Context, f *grpclimit.Fault) error {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, f)
					return answer(ctx, f)
				},
			}
			s, client := limited(t, cfg)
			for what, call := range map[string]func() error{
				"unary": func() error { return unary(short(t), client) },
				"stream": func() error {
					stream, err := client.StreamingInputCall(short(t))
					require.NoError(t, err)
					_, err = stream.CloseAndRecv()
					return err
				},
			} {
				seen, answer = nil, grpclimit.FailClosed
				err := call()
				require.Equal(t, tt.code, status.Code(err), "%s: %v", what, err)
				require.NotContains(t, err.Error(), "secret")
				require.Len(t, seen, 1)
				require.Equal(t, tt.code, seen[0].Code)
				require.ErrorIs(t, seen[0], tt.is)
				require.Contains(t, seen[0].Error(), tt.is.Error(), "the server's log may say why")
				require.Contains(t, seen[0].FullMethod, "/grpc.testing.TestService/")
				require.Zero(t, s.calls.Load())

				answer = grpclimit.FailOpen
				err = call()
				if tt.code == codes.Internal {
					require.NoError(t, err)
				} else {
					require.Equal(t, tt.code, status.Code(err), "not a way around the limit")
				}
				answer = func(_ context.Context, f *grpclimit.Fault) error {
					return status.Error(codes.Unauthenticated, "who are you?")
				}
				require.Equal(t, codes.Unauthenticated, status.Code(call()), "the user's choice")
				s.calls.Store(0)
			}
		})
	}
}

func TestFaultsWithoutOnFault(t *testing.T) {
	for _, tt := range faults {
		_, client := limited(t, grpclimit.Config{
			Gate: gateFor(t, clock.NewManual(0), tt.set, "10/s"), Key: tt.key,
			Cost: func(context.Context, string, any) int64 { return tt.cost },
		})
		var trailer metadata.MD
		err := unary(short(t), client, grpc.Trailer(&trailer))
		require.Equal(t, tt.code, status.Code(err), tt.name)
		require.Empty(t, trailer["grpc-retry-pushback-ms"])
	}
}

// An error of Key that has a status is the answer, and no fault.
func TestKeyAnswers(t *testing.T) {
	own := status.Error(codes.PermissionDenied, "desk closed")
	for _, err := range []error{own, fmt.Errorf("desk 7: %w", own)} {
		_, client := limited(t, grpclimit.Config{
			Gate: gateOf(t, clock.NewManual(0), "10/s"), Key: keyError(err),
			OnFault: func(context.Context, *grpclimit.Fault) error { panic("not a fault") },
		})
		got := unary(short(t), client)
		require.Equal(t, codes.PermissionDenied, status.Code(got))
		require.ErrorContains(t, got, "desk closed")
	}
}
