package venue

import (
	"strings"

	"github.com/tickgate/tickgate/policy"
)

// Preset is what one venue enforces on one of its interfaces.
type Preset struct {
	// Name is how Lookup finds it, such as "binance-spot".
	Name string
	// Venue names the venue and the interface for people.
	Venue string
	// Source names the venue's documents that say so.
	Source string
	// Read is when they were read: a month and a year.
	Read string
	// Policies are the counts that the venue keeps, one policy for each. The
	// names of limits are different throughout the set.
	Policies policy.Set
	// Keys says for each endpoint of Policies what the venue counts by, such as
	// "IP address" or "account": what an API key of the gate has to stand for.
	Keys map[string]string
	// Messages are the classes of messages and the counts that they draw on.
	Messages []Message
	// Breach says what the venue does to one who sends too much.
	Breach string
	// Refusals are the codes or texts by which a reply says so, if any.
	Refusals []string

	headers []header
	bans    []ban
}

// Message is one class of messages.
type Message struct {
	// Class is its name, such as "order.new"; the package comment lists them.
	Class string
	// Draws are the counts that one message draws on: all of them, or it must
	// not be sent.
	Draws []Draw
	// Accepted is what the venue gives back when it accepts the message, and
	// Filled when the order it created is filled for the first time; both never
	// below zero used. Mostly empty.
	Accepted, Filled []Draw
}

// Draw is what one message takes from one count.
type Draw struct {
	// Endpoint is a policy of the preset.
	Endpoint string
	// Cost is in tokens. ByCaller means that it depends on the message, as the
	// preset's comment says.
	Cost int64
}

// ByCaller is the cost of a draw for which the caller must give one: the weight
// of a route, the orders in a batch, the penalty for an order's age.
const ByCaller int64 = 0

// Tokens returns the draw's cost, or n if the caller must give it.
func (d Draw) Tokens(n int64) int64 {
	if d.Cost == ByCaller {
		return n
	}
	return d.Cost
}

// Message returns the class of that name.
func (p Preset) Message(class string) (Message, bool) {
	for _, m := range p.Messages {
		if m.Class == class {
			return m, true
		}
	}
	return Message{}, false
}

// All returns every preset, venue by venue. HKEX has one throttle in it.
func All() []Preset {
	return []Preset{
		BinanceFIX(),
		BinanceSpot(),
		BinanceUSDM(),
		BitMEX(),
		Bybit(),
		CMEiLink(),
		CoinbaseExchange(),
		CoinbaseFIX(),
		Deribit(),
		HKEX(1),
		KrakenEngine(KrakenStarter),
		KrakenEngine(KrakenIntermediate),
		KrakenEngine(KrakenPro),
		KrakenREST(KrakenStarter),
		KrakenREST(KrakenIntermediate),
		KrakenREST(KrakenPro),
		OKX(),
		RevolutFIX(),
	}
}

// Lookup returns the preset of that name. An unknown name is a
// [*policy.ConfigError] that lists the known ones.
func Lookup(name string) (Preset, error) {
	all := All()
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return Preset{}, &policy.ConfigError{
		Field: "venue", Value: name,
		Reason: "not a known venue; write one of " + strings.Join(names, ", "),
	}
}

// november2026 is when the documents of the present presets were read.
const november2026 = "November 2026"

// one is a draw of a single token.
func one(endpoint string) Draw { return Draw{Endpoint: endpoint, Cost: 1} }

// byCaller is a draw whose cost the caller gives.
func byCaller(endpoint string) Draw { return Draw{Endpoint: endpoint, Cost: ByCaller} }

// count is a policy of one or more limits.
func count(endpoint string, limits ...policy.Limit) policy.Policy {
	return policy.Policy{Endpoint: endpoint, Limits: limits}
}
