package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// RevolutFIX returns the limits of Revolut's exchange FIX gateway, as documented
// when read in November 2026 ("Exchange FIX API: System overview, FIX Gateway rate
// limiter"): new orders and replaces together, 7500 in a sliding window of 5 s.
// Cancels weigh nothing.
func RevolutFIX() Preset {
	const (
		order  = "order.new"
		cancel = "order.cancel"
	)
	return Preset{
		Name:   "revolut-fix",
		Venue:  "Revolut exchange, FIX API",
		Source: "Revolut Exchange FIX API: System overview",
		Read:   november2026,
		Policies: policy.Set{
			count(order, rolling("orders-5s", 7500, 5*time.Second)),
			count(cancel, unlimited("cancels")),
		},
		Keys: map[string]string{order: "session", cancel: "session"},
		Messages: append(each(order, "order.new", "order.replace"),
			each(cancel, "order.cancel")...),
		Breach:   "the message is rejected until the count falls",
		Refusals: []string{"Rate limit exceeded"},
	}
}
