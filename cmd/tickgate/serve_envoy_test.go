package main

import (
	"context"
	"fmt"
	"math"
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
	"google.golang.org/protobuf/types/known/wrapperspb"
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
			ask := func() ratelimitv3.RateLimitResponse_Code { return asEnvoy(t, conn, "7", 0) }
			const ok, over = ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT
			require.Equal(t, []ratelimitv3.RateLimitResponse_Code{ok, ok, over}, []ratelimitv3.RateLimitResponse_Code{ask(), ask(), ask()})
			p := s.page(t)
			require.EqualValues(t, 1, p.Rejects.Total)
			require.Equal(t, "7", p.Rejects.Last[0].Key)
			require.Contains(t, p.Rejects.Last[0].Endpoint, "orders;desk")
			require.Equal(t, "rls@1", p.Rejects.Last[0].Version)
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
			soon(t, "the record of the change", func() bool { return len(s.page(t).Changes) > 0 })
			require.Equal(t, "rls@2", s.page(t).Changes[0].Who)
			require.Contains(t, s.page(t).Changes[0].Lines, "orders;desk: 2/h aligned name=requests → 4/h aligned name=requests")
			s.stop()
			require.Equal(t, exitOK, <-s.status)
		})
	}
}

// asEnvoy asks for hits of a desk at the connection of a gRPC port; 0 is 1.
func asEnvoy(t *testing.T, conn *grpc.ClientConn, desk string, hits uint64) ratelimitv3.RateLimitResponse_Code {
	t.Helper()
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	d := &commonv3.RateLimitDescriptor{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "desk", Value: desk}}}
	if hits > 0 {
		d.HitsAddend = wrapperspb.UInt64(hits)
	}
	answer, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, &ratelimitv3.RateLimitRequest{
		Domain: "orders", Descriptors: []*commonv3.RateLimitDescriptor{d},
	})
	require.NoError(t, err)
	return answer.GetOverallCode()
}

// TestServeBlocksEnvoy: a block reaches Envoy's gate, alone or beside another surface, and so
// does its end. What the page shows of Envoy's callers is what the block takes.
func TestServeBlocksEnvoy(t *testing.T) {
	const ok, over = ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT
	file := write(t, "orders.yaml", string(deskLimits(5)))
	for name, args := range map[string][]string{
		"beside the check API": {"--set", "order.new=3/m"},
		"beside a proxy":       {"--upstream", upstream(t, noContent)},
		"alone":                {"--listen", "off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, nil, append(args, "--rls", "127.0.0.1:0", "--rls-config", file, "--show-keys")...)
			conn, err := grpc.NewClient(s.port(t, "Envoy"), grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			defer conn.Close()
			order := func(path, body string) string {
				res := s.ask(t, "operators", "POST", path, body, "Content-Type", "application/json")
				require.Equal(t, 200, res.StatusCode, res.text)
				return res.text
			}
			require.Equal(t, ok, asEnvoy(t, conn, "7", 0))
			require.Contains(t, order("/v1/block", `{"everyone":true,"who":"me"}`), `"gate":"envoy"`)
			require.Equal(t, over, asEnvoy(t, conn, "7", 0))
			order("/v1/unblock", `{"everyone":true,"who":"me"}`)
			require.Equal(t, ok, asEnvoy(t, conn, "7", 0))

			require.Equal(t, over, asEnvoy(t, conn, "7", math.MaxUint64))
			last := s.page(t).Rejects.Last
			require.Equal(t, []any{"too costly", int64(math.MaxInt64)}, []any{last[0].Reason, last[0].Cost})
			require.Equal(t, []any{"blocked", -1.0}, []any{last[1].Reason, last[1].RetryAfter})
			require.Equal(t, "rls@1", last[1].Version)
			require.Equal(t, "7", last[1].Key)
			require.Contains(t, order("/v1/block", `{"apikey":"`+last[1].Key+`","who":"me"}`), `"gate":"envoy","key":"7"`)
			require.Equal(t, over, asEnvoy(t, conn, "7", 0))
			require.Equal(t, ok, asEnvoy(t, conn, "8", 0))
			usage := s.ask(t, "operators", "GET", "/v1/usage?apikey=7", "").text
			require.Contains(t, usage, `{"gate":"envoy","endpoint":"orders;desk","policy":"orders;desk","blocked":true,`)
			order("/v1/unblock", `{"apikey":"7","who":"me"}`)
			require.Equal(t, ok, asEnvoy(t, conn, "7", 0))
			label := "envoy: orders;desk"
			if name == "alone" {
				label = "orders;desk"
			}
			p := s.page(t)
			require.Equal(t, label, p.Policies[len(p.Policies)-1].Endpoint)
			require.Equal(t, label, p.Rejects.Last[0].Endpoint)
			for _, c := range p.Changes {
				require.Equal(t, "me", c.Who)
			}
		})
	}
}
