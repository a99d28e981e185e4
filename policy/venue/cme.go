package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// CMEiLink returns the limits of a CME iLink session, as documented when read in
// November 2026 ("CME Globex: Messaging Controls"). Messages are counted over
// three seconds that begin with the first message after the last count ended; the
// thresholds are messages per second over that interval:
//
//	count         by       limits
//	message       session  500 a second: 1500 in the three seconds
//	order.cancel  session  1000 a second: 3000 in the three seconds
//
// Cancels are counted apart, all other application messages together; mass quotes,
// which have thresholds of their own, are not in this preset. Whoever reads the
// thresholds as messages per interval sets the tokens to a third.
func CMEiLink() Preset {
	const (
		message = "message"
		cancel  = "order.cancel"
	)
	return Preset{
		Name:   "cme-ilink",
		Venue:  "CME Globex, iLink order entry",
		Source: "CME Globex: Messaging Controls",
		Read:   november2026,
		Policies: policy.Set{
			count(message, fromFirst("messages-3s", 3*500, 3*time.Second)),
			count(cancel, fromFirst("cancels-3s", 3*1000, 3*time.Second)),
		},
		Keys: map[string]string{message: "session", cancel: "session"},
		Messages: append(each(message, "order.new", "order.replace", "query"),
			each(cancel, "order.cancel")...),
		Breach: "rejects until the rate falls; above 750 a second, 1500 for cancels, logout and cancel on disconnect",
	}
}
