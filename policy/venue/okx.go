package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// OKX returns the limits of OKX's order entry, as documented when read in November
// 2026 ("OKX API guide: Rate Limits, Trade"; "Fill ratio sub-account rate limit"):
//
//	count               by                   limits, in windows of unknown phase
//	order.new           sub-account          1000 in 2 s, new orders and amendments together
//	order.cancel        sub-account          not counted
//	instrument.new      user and instrument  60 in 2 s
//	instrument.replace  user and instrument  60 in 2 s
//	instrument.cancel   user and instrument  60 in 2 s
//
// As the phase of the windows is not documented, they are rolling ones here. Each
// order of a batch counts; the caller gives their number. Batches have counts per
// instrument of their own, which are not in this preset.
func OKX() Preset {
	const (
		orders     = "order.new"
		cancels    = "order.cancel"
		newHere    = "instrument.new"
		amendHere  = "instrument.replace"
		cancelHere = "instrument.cancel"
		here       = "user and instrument"
	)
	return Preset{
		Name:   "okx",
		Venue:  "OKX V5, order entry by REST and WebSocket",
		Source: "OKX API guide: Rate Limits, Trade; Fill ratio sub-account rate limit",
		Read:   november2026,
		Policies: policy.Set{
			count(orders, rolling("orders-2s", 1000, 2*time.Second)),
			count(cancels, unlimited("cancels")),
			count(newHere, rolling("instrument-new-2s", 60, 2*time.Second)),
			count(amendHere, rolling("instrument-replace-2s", 60, 2*time.Second)),
			count(cancelHere, rolling("instrument-cancel-2s", 60, 2*time.Second)),
		},
		Keys: map[string]string{
			orders: "sub-account", cancels: "sub-account", newHere: here, amendHere: here, cancelHere: here,
		},
		Messages: []Message{
			{Class: "order.new", Draws: []Draw{one(orders), one(newHere)}},
			{Class: "order.batch", Draws: []Draw{byCaller(orders)}},
			{Class: "order.replace", Draws: []Draw{one(orders), one(amendHere)}},
			{Class: "order.cancel", Draws: []Draw{one(cancels), one(cancelHere)}},
		},
		Breach:   "code 50011 for an instrument's limit, 50061 for a sub-account's",
		Refusals: []string{"50011", "50061"},
		bans:     []ban{{status: 429, fallback: 2 * time.Second}},
	}
}
