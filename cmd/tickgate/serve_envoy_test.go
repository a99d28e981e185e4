package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// deskLimits are limits of n requests an hour for each desk.
func deskLimits(n int) []byte {
	return fmt.Appendf(nil, "domain: orders\ndescriptors:\n  - key: desk\n    rate_limit: {unit: hour, requests_per_unit: %d}\n", n)
}

// TestServeEnvoy: Envoy's service over real gRPC, beside the check API and alone.
func TestServeEnvoy(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "orders.yaml")
	require.NoError(t, os.WriteFile(file, deskLimits(2), 0o600))
	ca := newAuthority(t, "authority")
	cert, key := ca.issue(t, "server")
	for name, args := range map[string][]string{
		"beside the check API": {},
		"alone":                {"--listen", "off"},
		"over TLS":             {"--tls-cert", cert, "--tls-key", key},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, deskLimits(2), 0o600))
			s := serve(t, nil, append(args, "--rls", "127.0.0.1:0", "--rls-config", folder, "--show-keys")...)
			creds := insecure.NewCredentials()
			if name == "over TLS" {
				creds = credentials.NewTLS(ca.trust(t, "", ""))
			}
			conn, err := grpc.NewClient(s.port(t, "Envoy"), grpc.WithTransportCredentials(creds))
			require.NoError(t, err)
			defer conn.Close()
			ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
			defer done()
			alive, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
			require.NoError(t, err)
			require.Equal(t, healthv1.HealthCheckResponse_SERVING, alive.GetStatus())
			ask := func() ratelimitv3.RateLimitResponse_Code {
				answer, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, &ratelimitv3.RateLimitRequest{
					Domain: "orders", Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "desk", Value: "7"}}}},
				})
				require.NoError(t, err)
				return answer.GetOverallCode()
			}
			const ok, over = ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT
			require.Equal(t, []ratelimitv3.RateLimitResponse_Code{ok, ok, over}, []ratelimitv3.RateLimitResponse_Code{ask(), ask(), ask()})
			p := s.page(t)
			require.EqualValues(t, 1, p.Rejects.Total)
			require.Equal(t, "desk=7", p.Rejects.Last[0].Key)
			require.Equal(t, "orders", p.Rejects.Last[0].Endpoint)
			require.Equal(t, "1", s.metric(t, `tickgate_rls_requests_total{outcome="over_limit"}`))

			// A bad file leaves what was good; a good one is in force.
			require.NoError(t, os.WriteFile(file, []byte("domain: orders\nlimits: 3\n"), 0o600))
			s.hangup <- struct{}{}
			require.Eventually(t, func() bool { return s.metric(t, `tickgate_config_reloads_total{result="refused",source="rls"}`) == "1" }, 5*time.Second, 10*time.Millisecond)
			require.Equal(t, over, ask())
			require.Contains(t, s.String(), "line 2, column 1")
			require.NoError(t, os.WriteFile(file, deskLimits(4), 0o600))
			s.hangup <- struct{}{}
			require.Eventually(t, func() bool { return ask() == ok }, 5*time.Second, 10*time.Millisecond)
			s.stop()
			require.Equal(t, exitOK, <-s.status)
		})
	}
}
