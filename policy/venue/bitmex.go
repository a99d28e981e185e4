package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// BitMEX returns the limits of BitMEX's REST API, as documented when read in
// November 2026 ("REST API: Limits"; "Second Layer Rate Limits"):
//
//	count    by       limits
//	request  account  a token bucket of 60 that refills at 60 a minute
//	order    account  10 in 1 s, besides, for order entry; the kind of window is not
//	                  documented, so that it is a rolling one here
//
// A request that is answered with status 503 still counts.
func BitMEX() Preset {
	const (
		request = "request"
		order   = "order"
	)
	both := []Draw{one(request), one(order)}
	return Preset{
		Name:   "bitmex",
		Venue:  "BitMEX, REST API",
		Source: "BitMEX REST API: Limits; Second Layer Rate Limits",
		Read:   november2026,
		Policies: policy.Set{
			count(request, bucket("requests-1m", 60, time.Minute, 60)),
			count(order, rolling("orders-1s", 10, time.Second)),
		},
		Keys: map[string]string{request: "account", order: "account"},
		Messages: []Message{
			{Class: "order.new", Draws: both},
			{Class: "order.replace", Draws: both},
			{Class: "order.cancel", Draws: both},
			{Class: "query", Draws: []Draw{one(request)}},
		},
		Breach: "status 429 with Retry-After; many of them in a short time, a ban of one hour",
		headers: []header{
			{name: "X-RateLimit-Remaining", limit: "requests-1m", remaining: true},
			{name: "X-RateLimit-Remaining-1s", limit: "orders-1s", remaining: true},
		},
		bans: []ban{{status: 429, header: "Retry-After", form: seconds, fallback: time.Second}},
	}
}
