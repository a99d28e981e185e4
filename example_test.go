package tickgate_test

import (
	"fmt"
	"log"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func Example() {
	set := policy.Set{{Endpoint: "order.new", Limits: []policy.Limit{{Tokens: 100, Per: time.Second, Burst: 20}}}}
	gate, err := tickgate.New(tickgate.Config{Policies: set, Clock: clock.NewManual(0)}) // no Clock: the machine's
	if err != nil {
		log.Fatal(err)
	}
	for i := 1; i <= 21; i++ {
		if d := gate.Take("desk-7", "order.new", 1); !d.Allowed {
			fmt.Println("order", i, d.Reason, "by", d.Limit, "- again in", d.RetryAfter)
		}
	}
	// Output: order 21 limited by 100/s burst=20 - again in 10ms
}

// exampleGate has a clock that stands still until it is moved, as tests want it.
func exampleGate(limits ...string) (*tickgate.Gate, *clock.Manual) {
	p := policy.Policy{Endpoint: "order.new"}
	for _, s := range limits {
		l, err := policy.ParseLimit(s)
		if err != nil {
			panic(err)
		}
		p.Limits = append(p.Limits, l)
	}
	c := clock.NewManual(0)
	g, err := tickgate.New(tickgate.Config{Policies: policy.Set{p}, Clock: c})
	if err != nil {
		panic(err)
	}
	return g, c
}

func ExampleGate_Handle() {
	gate, clock := exampleGate("10/s")
	h, err := gate.Handle("alice", "order.new")
	if err != nil {
		panic(err)
	}
	defer h.Release()

	fmt.Println(h.AllowAt(clock.Now(), 4)) // the fastest way to decide
	d := h.Take(6)
	fmt.Println(d.Allowed, d.Remaining)
	h.Refund(d) // it was not sent after all
	fmt.Println(h.Take(0).Remaining)
	h.Charge(20) // what had to go out whatever was left
	fmt.Println(h.Take(1).RetryAfter)
	// Output:
	// true
	// true 0
	// 6
	// 1.5s
}

func ExampleGate_TakeBatch() {
	gate, clock := exampleGate("2/s")
	requests := []tickgate.Request{
		{APIKey: "alice", Endpoint: "order.new", N: 1},
		{APIKey: "bob", Endpoint: "order.new", N: 2},
		{APIKey: "alice", Endpoint: "order.new", N: 2},
		{APIKey: "bob", Endpoint: "order.amend", N: 1},
	}
	decisions := make([]tickgate.Decision, len(requests))
	gate.TakeBatch(clock.Now(), requests, decisions)
	for i, d := range decisions {
		fmt.Println(requests[i].APIKey, d.Allowed, d.Reason)
	}
	// Output:
	// alice true ok
	// bob true ok
	// alice false limited
	// bob false no policy
}

func ExampleGate_Apply() {
	gate, _ := exampleGate("10/h")
	gate.AllowN("alice", "order.new", 8)
	for _, burst := range []int64{5, 10} {
		set := gate.Policies()
		set[0].Limits[0].Burst = burst
		if err := gate.Apply(set); err != nil {
			panic(err)
		}
		fmt.Println(gate.Take("alice", "order.new", 0).Remaining)
	}
	// Output:
	// 0
	// 2
}

func ExampleGate_Endpoint() {
	gate, clock := exampleGate("1/s", "100/h name=hour")
	orders := gate.Endpoint("order.new")
	fmt.Println(orders.Allow("alice"), orders.Allow("alice"))
	clock.Advance(time.Second)
	fmt.Println(orders.Allow("alice"))
	// Output:
	// true false
	// true
}

func ExampleNew_faults() {
	_, err := tickgate.New(tickgate.Config{
		MaxKeys:  -1,
		Policies: policy.Set{{Endpoint: "order.new", Limits: []policy.Limit{{Tokens: 100}}}},
	})
	fmt.Println(err)
	// Output:
	// policies[0](order.new).limits[0].per = 0s: must be above zero
	// MaxKeys = -1: must be 1 to 1073741824, or 0 for 10000
}
