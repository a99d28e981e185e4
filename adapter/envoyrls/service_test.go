package envoyrls_test

import (
	"context"
	"net"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
	"github.com/tickgate/tickgate/clock"
)

type (
	descriptor = commonv3.RateLimitDescriptor
	answer     = ratelimitv3.RateLimitResponse
	code       = ratelimitv3.RateLimitResponse_Code
)

const (
	ok   = ratelimitv3.RateLimitResponse_OK
	over = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// service is a server on the loopback, and a client as Envoy is one.
type service struct {
	*envoyrls.Server
	t      *testing.T
	clock  *clock.Manual // begins at a whole day
	client ratelimitv3.RateLimitServiceClient
}

func start(t *testing.T, texts ...string) *service {
	t.Helper()
	return startWith(t, envoyrls.Config{}, texts...)
}

func startWith(t *testing.T, cfg envoyrls.Config, texts ...string) *service {
	t.Helper()
	c := clock.NewManual(0)
	cfg.Gate.Clock, cfg.Gate.Wall = c, clock.NewManualWall(0)
	if cfg.Gate.MaxKeys == 0 {
		cfg.Gate.MaxKeys = 1000
	}
	s, err := envoyrls.New(cfg, filesOf(texts...)...)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = cc.Close() })
	return &service{Server: s, t: t, clock: c, client: ratelimitv3.NewRateLimitServiceClient(cc)}
}

func filesOf(texts ...string) (files []envoyrls.File) {
	for i, text := range texts {
		files = append(files, envoyrls.File{Name: string(rune('a'+i)) + ".yaml", Text: []byte(text)})
	}
	return files
}

// send sends a request as it is.
func (s *service) send(req *ratelimitv3.RateLimitRequest) (*answer, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	return s.client.ShouldRateLimit(ctx, req)
}

// ask sends descriptors and checks what holds for every answer.
func (s *service) ask(domain string, descriptors ...*descriptor) *answer {
	s.t.Helper()
	a, err := s.send(&ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: descriptors})
	require.NoError(s.t, err)
	require.Len(s.t, a.GetStatuses(), len(descriptors))
	any := ok
	for _, status := range a.GetStatuses() {
		require.NotEqual(s.t, ratelimitv3.RateLimitResponse_UNKNOWN, status.GetCode())
		any = max(any, status.GetCode())
	}
	require.Equal(s.t, any, a.GetOverallCode(), "the overall code is the OR")
	return a
}

// codes sends descriptors and returns their codes.
func (s *service) codes(domain string, descriptors ...*descriptor) (codes []code) {
	s.t.Helper()
	for _, status := range s.ask(domain, descriptors...).GetStatuses() {
		codes = append(codes, status.GetCode())
	}
	return codes
}

// passes requires that n requests of these descriptors pass, and the next does not.
func (s *service) passes(n int, domain string, descriptors ...*descriptor) {
	s.t.Helper()
	for i := range n {
		require.Equal(s.t, ok, s.ask(domain, descriptors...).GetOverallCode(), "request %d of %d", i+1, n)
	}
	require.Equal(s.t, over, s.ask(domain, descriptors...).GetOverallCode(), "request %d", n+1)
}

// open requires that requests of these descriptors meet no limit.
func (s *service) open(domain string, descriptors ...*descriptor) {
	s.t.Helper()
	for range 10 {
		for _, status := range s.ask(domain, descriptors...).GetStatuses() {
			require.Equal(s.t, ok, status.GetCode())
			require.Nil(s.t, status.GetCurrentLimit())
			require.Nil(s.t, status.GetDurationUntilReset())
		}
	}
}

// left looks at what a descriptor has left.
func (s *service) left(domain string, d *descriptor) uint32 {
	s.t.Helper()
	return s.ask(domain, adding(0, d)).GetStatuses()[0].GetLimitRemaining()
}

// of makes a descriptor of keys and values.
func of(pairs ...string) *descriptor {
	d := &descriptor{}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return d
}

// adding is d with hits_addend n of its own.
func adding(n uint64, d *descriptor) *descriptor {
	return &descriptor{Entries: d.Entries, HitsAddend: wrapperspb.UInt64(n), IsNegativeHits: d.IsNegativeHits}
}

func giving(n uint64, d *descriptor) *descriptor {
	d = adding(n, d)
	d.IsNegativeHits = true
	return d
}

func gateWith(keys int, full tickgate.OnFull) tickgate.Config {
	return tickgate.Config{MaxKeys: keys, OnFull: full}
}

func requestOf(domain string, descriptors ...*descriptor) *ratelimitv3.RateLimitRequest {
	return &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: descriptors}
}
