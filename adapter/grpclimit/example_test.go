package grpclimit_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// A server that lets each desk call each method twice a minute.
func Example() {
	gate, err := tickgate.New(tickgate.Config{
		Policies: policy.Set{{
			Endpoint: policy.DefaultEndpoint,
			Limits:   []policy.Limit{{Name: "minute", Tokens: 2, Per: time.Minute}},
		}},
		Clock: clock.NewManual(0), // leave it out: the machine's clock
	})
	if err != nil {
		log.Fatal(err)
	}
	limit, err := grpclimit.NewServer(grpclimit.Config{
		Gate: gate,
		Key:  grpclimit.MetadataKey("x-desk"), // checked by what stands in front
	})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-desk", "7")
	for range 3 {
		_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		wait, _ := grpclimit.RetryAfter(err)
		fmt.Println(status.Code(err), wait)
	}
	// Output:
	// OK 0s
	// OK 0s
	// ResourceExhausted 30s
}

// A client that keeps to a venue's limit by itself and waits its turn.
func ExampleNewClient() {
	gate, err := tickgate.New(tickgate.Config{Policies: policy.Set{{
		Endpoint: policy.DefaultEndpoint,
		Limits:   []policy.Limit{{Tokens: 50, Per: time.Second}},
	}}})
	if err != nil {
		log.Fatal(err)
	}
	limit, err := grpclimit.NewClient(grpclimit.Config{
		Gate:     gate,
		Key:      grpclimit.FixedKey("account-1"),
		Endpoint: func(string, grpclimit.Messages) string { return "venue" }, // all methods together
		Wait:     true,
	})
	if err != nil {
		log.Fatal(err)
	}
	conn, err := grpc.NewClient("dns:///venue.example.com:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(limit.Unary), grpc.WithStreamInterceptor(limit.Stream))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
}
