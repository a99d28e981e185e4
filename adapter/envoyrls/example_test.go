package envoyrls_test

import (
	"context"
	"fmt"
	"log"
	"net"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/envoyrls"
	"github.com/tickgate/tickgate/clock"
)

// A service that lets each desk send two orders a second, and all desks together three,
// as Envoy would ask it.
func Example() {
	limits, err := envoyrls.New(envoyrls.Config{
		Gate: tickgate.Config{
			MaxKeys: 100_000,
			Clock:   clock.NewManual(0), // leave both out: the machine's clocks
			Wall:    clock.NewManualWall(0),
		},
	}, envoyrls.File{Name: "orders.yaml", Text: []byte(`
domain: orders
descriptors:
  - key: desk
    rate_limit: {unit: second, requests_per_unit: 2}
  - key: generic_key
    value: all
    rate_limit: {unit: second, requests_per_unit: 3}
`)})
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	ratelimitv3.RegisterRateLimitServiceServer(server, limits)
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
	client := ratelimitv3.NewRateLimitServiceClient(conn)
	for _, desk := range []string{"7", "7", "7", "8", "8"} {
		answer, err := client.ShouldRateLimit(context.Background(), &ratelimitv3.RateLimitRequest{
			Domain: "orders",
			Descriptors: []*commonv3.RateLimitDescriptor{
				{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "desk", Value: desk}}},
				{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "generic_key", Value: "all"}}},
			},
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print("desk ", desk, ": ", answer.GetOverallCode())
		for _, status := range answer.GetStatuses() {
			fmt.Print(", ", status.GetCode(), " with ", status.GetLimitRemaining(), " left")
		}
		fmt.Println()
	}
	// Output:
	// desk 7: OK, OK with 1 left, OK with 2 left
	// desk 7: OK, OK with 0 left, OK with 1 left
	// desk 7: OVER_LIMIT, OVER_LIMIT with 0 left, OK with 1 left
	// desk 8: OK, OK with 1 left, OK with 0 left
	// desk 8: OVER_LIMIT, OK with 1 left, OVER_LIMIT with 0 left
}

// New limits while requests are answered: on SIGHUP, say.
func ExampleServer_Apply() {
	file := func(text string) envoyrls.File { return envoyrls.File{Name: "orders.yaml", Text: []byte(text)} }
	limits, err := envoyrls.New(envoyrls.Config{},
		file("domain: orders\ndescriptors:\n  - {key: desk, rate_limit: {unit: second, requests_per_unit: 2}}\n"))
	if err != nil {
		log.Fatal(err)
	}
	err = limits.Apply(file("domain: orders\ndescriptors:\n  - {key: desk, rate_limit: {unit: second, requests_per_unt: 5}}\n"))
	fmt.Println(err != nil, limits.LastError() == err, limits.Version())
	err = limits.Apply(file("domain: orders\ndescriptors:\n  - {key: desk, rate_limit: {unit: second, requests_per_unit: 5, burst: 10}}\n"))
	fmt.Println(err, limits.Version())
	// Output:
	// true true 1
	// <nil> 2
}
