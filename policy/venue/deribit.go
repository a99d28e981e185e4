package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Deribit returns the limits of Deribit, as documented when read in November 2026
// ("Rate Limits"), for an account of the lowest tier of trading volume:
//
//	count  by           limits
//	order  sub-account  5 a second, burst 20: what goes to the matching engine
//	query  sub-account  credits: 10000 a second up to 50000; a request costs 500
//
// Some methods cost other credits than 500, which an account's summary tells. A
// request without credits ends the session, so leave a margin: [Guard].
func Deribit() Preset {
	const (
		order = "order"
		query = "query"
		cost  = 500
	)
	return Preset{
		Name:   "deribit",
		Venue:  "Deribit, all interfaces",
		Source: "Deribit: Rate Limits",
		Read:   november2026,
		Policies: policy.Set{
			count(order, bucket("engine", 5, time.Second, 20)),
			count(query, bucket("credits", 10_000, time.Second, 50_000)),
		},
		Keys: map[string]string{order: "sub-account", query: "sub-account"},
		Messages: append(each(order, "order.new", "order.replace", "order.cancel"),
			Message{Class: "query", Draws: []Draw{{Endpoint: query, Cost: cost}}}),
		Breach:   "code 10028, and the session is ended",
		Refusals: []string{"10028"},
		bans:     []ban{{status: 429, fallback: time.Second}},
	}
}
