package grpclimit_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tickgate/tickgate/adapter/grpclimit"
)

func TestRetryAfter(t *testing.T) {
	with := func(d *durationpb.Duration) error {
		st, err := status.New(codes.Unavailable, "").WithDetails(
			&errdetails.ErrorInfo{}, &errdetails.RetryInfo{RetryDelay: d})
		require.NoError(t, err)
		return st.Err()
	}
	for _, tt := range []struct {
		name string
		err  error
		wait time.Duration
		ok   bool
	}{
		{"nil", nil, 0, false},
		{"not a status", errors.New("no"), 0, false},
		{"no details", status.Error(codes.ResourceExhausted, ""), 0, false},
		{"seconds", with(durationpb.New(47 * time.Second)), 47 * time.Second, true},
		{"zero", with(&durationpb.Duration{}), 0, true},
		{"wrapped", fmt.Errorf("order 7: %w", with(durationpb.New(time.Second))), time.Second, true},
		{"absent", with(nil), 0, false},
		{"negative", with(durationpb.New(-time.Second)), 0, false},
		{"nonsense", with(&durationpb.Duration{Seconds: math.MaxInt64}), 0, false},
		{"centuries", with(&durationpb.Duration{Seconds: 10_000 * 365 * 86400}), math.MaxInt64, true},
	} {
		wait, ok := grpclimit.RetryAfter(tt.err)
		require.Equal(t, tt.ok, ok, tt.name)
		require.Equal(t, tt.wait, wait, tt.name)
	}
}
