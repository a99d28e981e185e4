package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// Bybit returns the limits of Bybit's V5 HTTP API, as documented when read in
// November 2026 ("V5 API: Rate Limit Rules"):
//
//	count          by          limits, in rolling windows
//	request        IP address  600 in 5 s
//	order.new      UID         10 in 1 s
//	order.batch    UID         10 in 1 s, each order of a batch
//	order.replace  UID         10 in 1 s
//	order.cancel   UID         10 in 1 s
//	query          UID         50 in 1 s
//
// Each endpoint of a UID has a count of its own, of the size shown or, by product
// and account, a higher one: the header X-Bapi-Limit says which. The caller gives
// the number of orders in a batch.
//
// A request beyond a UID's limit is refused with code 10006 in the body of a reply
// of status 200; Feedback then takes the ban from the header with the reset time.
func Bybit() Preset {
	const ip = "request"
	p := Preset{
		Name:     "bybit",
		Venue:    "Bybit V5, HTTP API",
		Source:   "Bybit V5 API: Rate Limit Rules",
		Read:     november2026,
		Policies: policy.Set{count(ip, rolling("requests-5s", 600, 5*time.Second))},
		Keys:     map[string]string{ip: "IP address"},
		Breach:   "code 10006 until the reset time; beyond the IP address's limit, status 403 for 10 minutes",
		Refusals: []string{"10006"},
		bans: []ban{
			{status: 403, fallback: 10 * time.Minute},
			{status: 429, fallback: time.Second},
			{spent: "X-Bapi-Limit-Status", header: "X-Bapi-Limit-Reset-Timestamp", form: unixMillis},
		},
	}
	for _, c := range []struct {
		class, limit string
		perSecond    int64
		cost         int64
	}{
		{"order.new", "new-1s", 10, 1},
		{"order.batch", "batch-1s", 10, ByCaller},
		{"order.replace", "replace-1s", 10, 1},
		{"order.cancel", "cancel-1s", 10, 1},
		{"query", "query-1s", 50, 1},
	} {
		p.Policies = append(p.Policies, count(c.class, rolling(c.limit, c.perSecond, time.Second)))
		p.Keys[c.class] = "UID"
		p.Messages = append(p.Messages, Message{
			Class: c.class,
			Draws: []Draw{one(ip), {Endpoint: c.class, Cost: c.cost}},
		})
		p.headers = append(p.headers, header{name: "X-Bapi-Limit-Status", limit: c.limit, remaining: true})
	}
	return p
}
