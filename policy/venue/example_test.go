package venue_test

import (
	"fmt"
	"time"

	"github.com/tickgate/tickgate/policy/venue"
)

func Example() {
	p, err := venue.Lookup("binance-spot")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, as documented in %s\n", p.Venue, p.Read)
	// The network delays by up to 50 ms more at one time than at another.
	p.Policies = venue.Guard(p.Policies, 50*time.Millisecond)

	order, _ := p.Message("order.new")
	for _, d := range order.Draws {
		counted, _ := p.Policies.Lookup(d.Endpoint)
		fmt.Printf("%d of %q, by %s: %v\n", d.Cost, d.Endpoint, p.Keys[d.Endpoint], counted.Limits)
	}
	// Output:
	// Binance spot, REST and WebSocket API, as documented in November 2026
	// 1 of "weight", by IP address: [6000/m aligned skew=50ms name=weight-1m]
	// 1 of "request", by IP address: [300000/5m aligned skew=50ms name=raw-5m]
	// 1 of "order.new", by account: [100/10s aligned skew=50ms name=orders-10s 200000/d aligned skew=50ms name=orders-1d]
}

func ExamplePreset_Feedback() {
	reply := map[string]string{ // stands for a reply's headers
		"X-MBX-USED-WEIGHT-1M":  "6001",
		"X-MBX-ORDER-COUNT-10S": "-1",
		"Retry-After":           "17",
	}
	get := func(name string) string { return reply[name] }
	f := venue.BinanceSpot().Feedback("order.new", get, 429, time.Now())
	for _, u := range f.Used {
		fmt.Println(u.Endpoint, u.Limit, u.Used)
	}
	fmt.Println("send nothing for", f.BanFor)
	fmt.Println(f.Err)
	// Output:
	// weight weight-1m 6001
	// send nothing for 17s
	// header X-MBX-ORDER-COUNT-10S = -1: not a whole number; ignored
}

func ExampleKrakenCancelCost() {
	for _, age := range []time.Duration{3 * time.Second, time.Minute, time.Hour} {
		fmt.Println(age, venue.KrakenCancelCost(age))
	}
	// Output:
	// 3s 8
	// 1m0s 2
	// 1h0m0s 0
}
