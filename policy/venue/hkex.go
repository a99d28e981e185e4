package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// HKEX returns the limit of an HKEX OCG-C session with that many throttles, as
// documented when read in November 2026 ("Orion Central Gateway - Securities
// Market: FAQ"): two messages of any kind in each second of the clock, for each
// throttle. HKEX sets its clock by GPS. A number of throttles below one, or above
// 2^29, gives a set that does not validate.
func HKEX(throttles int64) Preset {
	const message = "message"
	return Preset{
		Name:     "hkex-ocgc",
		Venue:    "HKEX securities market, OCG-C order entry",
		Source:   "HKEX Orion Central Gateway - Securities Market (OCG-C): FAQ",
		Read:     november2026,
		Policies: policy.Set{count(message, aligned("messages-1s", twice(throttles), time.Second))},
		Keys:     map[string]string{message: "session"},
		Messages: each(message, "order.new", "order.replace", "order.cancel", "query"),
		Breach:   "the message is rejected; a severe breach drops the session",
	}
}

// twice doubles without overflow: what is out of range stays out of range.
func twice(n int64) int64 {
	if n < 1 || n > policy.MaxWindowTokens {
		return n
	}
	return 2 * n
}
