package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// KrakenTier is the verification level of a Kraken account. A value that is none
// of them counts as the lowest.
type KrakenTier uint8

// The tiers, from the lowest limits to the highest.
const (
	KrakenStarter KrakenTier = iota
	KrakenIntermediate
	KrakenPro
)

// String returns "starter", "intermediate" or "pro".
func (t KrakenTier) String() string {
	switch t {
	case KrakenIntermediate:
		return "intermediate"
	case KrakenPro:
		return "pro"
	}
	return "starter"
}

// KrakenEngine returns the limits of Kraken's spot trading engine, the same over
// REST, WebSocket and FIX, as documented when read in November 2026 ("Spot Trading
// Limits"). For each account and pair there is one counter, which decays:
//
//	tier          maximum  decay
//	starter       60       1 a second
//	intermediate  125      2.34 a second
//	pro           180      3.75 a second
//
// An order adds 1. What an amendment and a cancel add depends on the age of the
// order: [KrakenAmendCost], [KrakenCancelCost]. The decaying counter is a token
// bucket: its maximum is the burst, its decay the rate.
func KrakenEngine(tier KrakenTier) Preset {
	const order = "order"
	counter := bucket("counter", 1, time.Second, 60)
	switch tier {
	case KrakenIntermediate:
		counter = bucket("counter", 234, 100*time.Second, 125)
	case KrakenPro:
		counter = bucket("counter", 375, 100*time.Second, 180)
	}
	return Preset{
		Name:     "kraken-" + tier.String(),
		Venue:    "Kraken spot trading engine, tier " + tier.String(),
		Source:   "Kraken: Spot Trading Limits",
		Read:     november2026,
		Policies: policy.Set{count(order, counter)},
		Keys:     map[string]string{order: "account and pair"},
		Messages: []Message{
			{Class: "order.new", Draws: []Draw{one(order)}},
			{Class: "order.replace", Draws: []Draw{byCaller(order)}},
			{Class: "order.cancel", Draws: []Draw{byCaller(order)}},
		},
		Breach:   "the message is rejected",
		Refusals: []string{"EOrder:Rate limit exceeded"},
	}
}

// KrakenREST returns the limits of Kraken's private REST calls other than orders
// and cancels, as documented when read in November 2026 ("Spot REST Rate Limits").
// For each API key there is one counter, which decays:
//
//	tier          maximum  decay
//	starter       15       0.33 a second
//	intermediate  20       0.5 a second
//	pro           20       1 a second
//
// A call adds 1, one that reads a ledger or a trade history 2.
func KrakenREST(tier KrakenTier) Preset {
	const request = "request"
	counter := bucket("calls", 33, 100*time.Second, 15)
	switch tier {
	case KrakenIntermediate:
		counter = bucket("calls", 1, 2*time.Second, 20)
	case KrakenPro:
		counter = bucket("calls", 1, time.Second, 20)
	}
	return Preset{
		Name:     "kraken-rest-" + tier.String(),
		Venue:    "Kraken spot, private REST calls, tier " + tier.String(),
		Source:   "Kraken: Spot REST Rate Limits",
		Read:     november2026,
		Policies: policy.Set{count(request, counter)},
		Keys:     map[string]string{request: "API key"},
		Messages: []Message{
			{Class: "query", Draws: []Draw{one(request)}},
			{Class: "query.history", Draws: []Draw{{Endpoint: request, Cost: 2}}},
		},
		Breach:   "the call is refused; going on lengthens the lock-out",
		Refusals: []string{"EAPI:Rate limit exceeded"},
		bans:     []ban{{status: 429, fallback: 5 * time.Second}},
	}
}
