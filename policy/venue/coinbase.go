package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// CoinbaseExchange returns the limits of Coinbase Exchange's private REST
// endpoints, as documented when read in November 2026 ("Exchange: REST Rate
// Limits"): per profile, a lazily filled token bucket of 30 that refills at 15 a
// second, for requests of every kind. There is no feedback but status 429.
func CoinbaseExchange() Preset {
	const request = "request"
	return Preset{
		Name:     "coinbase-exchange",
		Venue:    "Coinbase Exchange, private REST endpoints",
		Source:   "Coinbase Exchange: REST Rate Limits",
		Read:     november2026,
		Policies: policy.Set{count(request, bucket("requests", 15, time.Second, 30))},
		Keys:     map[string]string{request: "profile"},
		Messages: each(request, "order.new", "order.cancel", "query"),
		Breach:   "status 429",
		bans:     []ban{{status: 429, fallback: time.Second}},
	}
}

// CoinbaseFIX returns the limit of Coinbase Exchange's FIX order entry, as
// documented when read in November 2026 ("Exchange: FIX Rate Limits"): 100
// messages a second per session, in fixed windows whose phase is not documented,
// so that it is a rolling one here. A batch of up to 15 orders is one message.
func CoinbaseFIX() Preset {
	const message = "message"
	return Preset{
		Name:     "coinbase-fix",
		Venue:    "Coinbase Exchange, FIX order entry",
		Source:   "Coinbase Exchange: FIX Rate Limits",
		Read:     november2026,
		Policies: policy.Set{count(message, rolling("messages-1s", 100, time.Second))},
		Keys:     map[string]string{message: "session"},
		Messages: each(message, "order.new", "order.batch", "order.replace", "order.cancel", "query"),
		Breach:   "the message is rejected; above 200 a second the session is disconnected",
	}
}

// each is classes of which every message draws one token from the same count.
func each(endpoint string, classes ...string) []Message {
	out := make([]Message, len(classes))
	for i, class := range classes {
		out[i] = Message{Class: class, Draws: []Draw{one(endpoint)}}
	}
	return out
}
