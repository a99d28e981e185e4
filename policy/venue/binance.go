package venue

import (
	"time"

	"github.com/tickgate/tickgate/policy"
)

// The counts of Binance.
const (
	binanceWeight   = "weight"
	binanceRequests = "request"
	binanceOrders   = "order.new"
)

// BinanceSpot returns the limits of Binance spot, REST and WebSocket API, as
// documented when read in November 2026 ("Binance Spot API: LIMITS", "Rate
// limits"; the sizes are those that exchangeInfo reports):
//
//	count      by          limits, in windows of the UTC clock
//	weight     IP address  6000 a minute
//	request    IP address  300000 in 5 minutes
//	order.new  account     100 in 10 s, 200000 a day
//
// The weight of a query is that of its route; the caller gives it. An order, a
// replace and a cancel weigh 1, which the venue charges only if it rejects them:
// it is taken first and given back when the message is accepted. The first fill
// of an order gives its place in the order counts back.
func BinanceSpot() Preset {
	return Preset{
		Name:   "binance-spot",
		Venue:  "Binance spot, REST and WebSocket API",
		Source: "Binance Spot API: LIMITS, Rate limits, exchangeInfo",
		Read:   november2026,
		Policies: policy.Set{
			count(binanceWeight, aligned("weight-1m", 6000, time.Minute)),
			count(binanceRequests, aligned("raw-5m", 300_000, 5*time.Minute)),
			count(binanceOrders,
				aligned("orders-10s", 100, 10*time.Second),
				aligned("orders-1d", 200_000, policy.Day)),
		},
		Keys: map[string]string{
			binanceWeight: "IP address", binanceRequests: "IP address", binanceOrders: "account",
		},
		Messages: []Message{
			{
				Class:    "order.new",
				Draws:    []Draw{one(binanceWeight), one(binanceRequests), one(binanceOrders)},
				Accepted: []Draw{one(binanceWeight)},
				Filled:   []Draw{one(binanceOrders)},
			},
			{
				Class:    "order.replace",
				Draws:    []Draw{one(binanceWeight), one(binanceRequests), one(binanceOrders)},
				Accepted: []Draw{one(binanceWeight)},
				Filled:   []Draw{one(binanceOrders)},
			},
			{
				Class:    "order.cancel",
				Draws:    []Draw{one(binanceWeight), one(binanceRequests)},
				Accepted: []Draw{one(binanceWeight)},
			},
			{Class: "query", Draws: []Draw{byCaller(binanceWeight), one(binanceRequests)}},
		},
		Breach: "status 429 with Retry-After; going on, status 418: the IP address is banned for 2 minutes to 3 days",
		headers: []header{
			{name: "X-MBX-USED-WEIGHT-1M", limit: "weight-1m"},
			{name: "X-MBX-ORDER-COUNT-10S", limit: "orders-10s"},
			{name: "X-MBX-ORDER-COUNT-1D", limit: "orders-1d"},
		},
		bans: binanceBans(),
	}
}

// BinanceFIX returns the limits of Binance spot's FIX API, as documented when read
// in November 2026 ("Binance Spot API: FIX API, limits"):
//
//	count      by          limits, in windows of the UTC clock
//	message    connection  10000 in 10 s
//	order.new  account     100 in 10 s, 200000 a day
//
// The order counts are the ones of [BinanceSpot]: an account that uses both has to
// use one key for both.
func BinanceFIX() Preset {
	const message = "message"
	order := []Draw{one(message), one(binanceOrders)}
	return Preset{
		Name:   "binance-fix",
		Venue:  "Binance spot, FIX API",
		Source: "Binance Spot API: FIX API, exchangeInfo",
		Read:   november2026,
		Policies: policy.Set{
			count(message, aligned("messages-10s", 10_000, 10*time.Second)),
			count(binanceOrders,
				aligned("orders-10s", 100, 10*time.Second),
				aligned("orders-1d", 200_000, policy.Day)),
		},
		Keys: map[string]string{message: "connection", binanceOrders: "account"},
		Messages: []Message{
			{Class: "order.new", Draws: order, Filled: []Draw{one(binanceOrders)}},
			{Class: "order.replace", Draws: order, Filled: []Draw{one(binanceOrders)}},
			{Class: "order.cancel", Draws: []Draw{one(message)}},
			{Class: "query", Draws: []Draw{one(message)}},
		},
		Breach: "the message is rejected; going on, the connection is closed",
	}
}

// BinanceUSDM returns the limits of Binance USD-M futures, as documented when read
// in November 2026 ("USD-M Futures API: General Info, LIMITS"; the sizes are
// those that exchangeInfo reports):
//
//	count      by          limits, in windows of the UTC clock
//	weight     IP address  2400 a minute
//	order.new  account     300 in 10 s
//
// The weight of a query is that of its route; the caller gives it.
func BinanceUSDM() Preset {
	order := []Draw{one(binanceWeight), one(binanceOrders)}
	return Preset{
		Name:   "binance-usdm",
		Venue:  "Binance USD-M futures, REST API",
		Source: "USD-M Futures API: General Info, LIMITS, exchangeInfo",
		Read:   november2026,
		Policies: policy.Set{
			count(binanceWeight, aligned("weight-1m", 2400, time.Minute)),
			count(binanceOrders, aligned("orders-10s", 300, 10*time.Second)),
		},
		Keys: map[string]string{binanceWeight: "IP address", binanceOrders: "account"},
		Messages: []Message{
			{Class: "order.new", Draws: order},
			{Class: "order.replace", Draws: order},
			{Class: "order.cancel", Draws: []Draw{one(binanceWeight)}},
			{Class: "query", Draws: []Draw{byCaller(binanceWeight)}},
		},
		Breach: "status 429 with Retry-After; going on, status 418: the IP address is banned for 2 minutes to 3 days",
		headers: []header{
			{name: "X-MBX-USED-WEIGHT-1M", limit: "weight-1m"},
			{name: "X-MBX-ORDER-COUNT-10S", limit: "orders-10s"},
		},
		bans: binanceBans(),
	}
}

// binanceBans: without Retry-After, the longest window of a minute, or the
// shortest ban.
func binanceBans() []ban {
	return []ban{
		{status: 429, header: "Retry-After", form: seconds, fallback: time.Minute},
		{status: 418, header: "Retry-After", form: seconds, fallback: 2 * time.Minute},
	}
}
