package tickgate_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy/venue"
)

// What each venue's documents give as an example, through a gate under its preset.

// desk sends messages of one preset through a gate, at a time that is set.
type desk struct {
	t       *testing.T
	preset  venue.Preset
	gate    *tickgate.Gate
	clock   *clock.Manual
	handles map[string]tickgate.Handle
	start   clock.Time
}

// deskOf is a desk at that time of day on the venue's clock.
func deskOf(t *testing.T, p venue.Preset, timeOfDay time.Duration) *desk {
	d := &desk{t: t, preset: p, start: clock.Time(midnight).Add(timeOfDay), handles: map[string]tickgate.Handle{}}
	d.clock = clock.NewManual(d.start)
	var err error
	d.gate, err = tickgate.New(tickgate.Config{Policies: p.Policies, MaxKeys: 64, Clock: d.clock, Wall: clock.NewManualWall(0)})
	require.NoError(t, err)
	for _, c := range p.Policies {
		d.handles[c.Endpoint], err = d.gate.Handle(p.Keys[c.Endpoint], c.Endpoint)
		require.NoError(t, err)
	}
	return d
}

// at moves the clock to so long after the start.
func (d *desk) at(after time.Duration) { d.clock.Set(d.start.Add(after)) }

// send asks for one message; cost is what the preset leaves to the caller.
func (d *desk) send(class string, cost int64) tickgate.Decision {
	m := messageOf(d.t, d.gate, d.preset, class, cost)
	return m.group.TakeEachAt(d.clock.Now(), m.each...)
}

// sends sends until one is denied, and returns how many passed and that denial.
func (d *desk) sends(class string, cost int64) (passed int, denial tickgate.Decision) {
	m := messageOf(d.t, d.gate, d.preset, class, cost)
	for {
		if denial = m.group.TakeEachAt(d.clock.Now(), m.each...); !denial.Allowed {
			return passed, denial
		}
		passed++
	}
}

// used is what is counted in the tightest limit of one count.
func (d *desk) used(endpoint string) int64 {
	p, _ := d.preset.Policies.Lookup(endpoint)
	h := d.handles[endpoint]
	look := h.TakeAt(d.clock.Now(), 0)
	for _, l := range p.Limits {
		if l.Label() == look.Limit {
			return l.Capacity() - look.Remaining
		}
	}
	d.t.Fatalf("%s has no limit %q", endpoint, look.Limit)
	return 0
}

// CME: three seconds that the first message starts, 500 messages a second over
// them; cancels are counted apart, 1000 a second.
func TestVenueCME(t *testing.T) {
	d := deskOf(t, venue.CMEiLink(), 1700*time.Millisecond)
	require.True(t, d.send("order.new", 1).Allowed, "starts the interval")
	d.at(2900 * time.Millisecond)
	passed, denial := d.sends("order.replace", 1)
	require.Equal(t, 1499, passed)
	require.Equal(t, 100*time.Millisecond, denial.RetryAfter, "no boundary of the clock ends it")
	passed, _ = d.sends("order.cancel", 1)
	require.Equal(t, 3000, passed)
	d.at(3*time.Second - 1)
	require.False(t, d.send("query", 1).Allowed)

	// The next starts with the next message, and not where the last one ended.
	d.at(5 * time.Second)
	require.True(t, d.send("order.new", 1).Allowed)
	passed, denial = d.sends("order.new", 1)
	require.Equal(t, 1499, passed)
	require.Equal(t, 3*time.Second, denial.RetryAfter)
}

// HKEX: two messages in each second of the clock.
func TestVenueHKEX(t *testing.T) {
	d := deskOf(t, venue.HKEX(1), 9*time.Hour+30*time.Minute+900*time.Millisecond)
	passed, denial := d.sends("order.new", 1)
	require.Equal(t, 2, passed)
	require.Equal(t, 100*time.Millisecond, denial.RetryAfter)
	d.at(100 * time.Millisecond)
	passed, denial = d.sends("order.cancel", 1)
	require.Equal(t, 2, passed, "100 ms later it is another second")
	require.Equal(t, time.Second, denial.RetryAfter)
	require.Equal(t, (midnight+int64(9*time.Hour+30*time.Minute))/int64(time.Second)+1, denial.Window)
	d.at(100*time.Millisecond + 4*time.Second)
	passed, _ = d.sends("order.new", 1)
	require.Equal(t, 2, passed, "seconds that were not used are gone")

	five := deskOf(t, venue.HKEX(5), 0)
	passed, _ = five.sends("order.new", 1)
	require.Equal(t, 10, passed)
}

// Bybit: ten in any second for each endpoint of a UID, and the orders of a batch
// one by one.
func TestVenueBybit(t *testing.T) {
	d := deskOf(t, venue.Bybit(), 0)
	for range 5 {
		require.True(t, d.send("order.new", 1).Allowed)
	}
	d.at(600 * time.Millisecond)
	passed, denial := d.sends("order.new", 1)
	require.Equal(t, 5, passed)
	require.Equal(t, 400*time.Millisecond, denial.RetryAfter)
	require.Equal(t, int64(10), d.used("request"), "what was not sent counts nowhere")
	require.True(t, d.send("order.cancel", 1).Allowed, "an endpoint of its own")

	d.at(time.Second)
	passed, denial = d.sends("order.new", 1)
	require.Equal(t, 5, passed, "the first five are over, the others not")
	require.Equal(t, 600*time.Millisecond, denial.RetryAfter)

	require.True(t, d.send("order.batch", 7).Allowed)
	require.False(t, d.send("order.batch", 4).Allowed)
	require.True(t, d.send("order.batch", 3).Allowed)
	require.Equal(t, tickgate.TooCostly, d.send("order.batch", 11).Reason)
}

// Coinbase Exchange: 15 requests a second, up to 30 in bursts.
func TestVenueCoinbase(t *testing.T) {
	d := deskOf(t, venue.CoinbaseExchange(), 0)
	passed, denial := d.sends("order.new", 1)
	require.Equal(t, 30, passed)
	require.Equal(t, 66_666_667*time.Nanosecond, denial.RetryAfter)
	d.at(time.Second)
	passed, _ = d.sends("order.cancel", 1)
	require.Equal(t, 15, passed)
	d.at(time.Hour)
	passed, _ = d.sends("query", 1)
	require.Equal(t, 30, passed)
}

// Kraken: cancelling what was just placed adds 8 to the counter, so that few such
// rounds are possible; what rested for five minutes is cancelled free of charge.
func TestVenueKraken(t *testing.T) {
	d := deskOf(t, venue.KrakenEngine(venue.KrakenStarter), 0)
	young, old := venue.KrakenCancelCost(time.Second), venue.KrakenCancelCost(300*time.Second)
	for round := range 6 {
		require.True(t, d.send("order.new", 1).Allowed, round)
		require.True(t, d.send("order.cancel", young).Allowed, round)
	}
	require.Equal(t, int64(54), d.used("order"))
	require.True(t, d.send("order.new", 1).Allowed)
	denial := d.send("order.cancel", young)
	require.False(t, denial.Allowed, "63 is above 60")
	require.Equal(t, 3*time.Second, denial.RetryAfter, "it decays by one a second")
	d.at(3 * time.Second)
	require.True(t, d.send("order.cancel", young).Allowed)
	require.False(t, d.send("order.replace", venue.KrakenAmendCost(7*time.Second)).Allowed)

	require.Zero(t, old)
	require.Equal(t, int64(60), d.used("order"))
	require.True(t, d.send("order.cancel", old).Allowed, "takes nothing, from a counter that is full")

	pro := deskOf(t, venue.KrakenEngine(venue.KrakenPro), 0)
	passed, denial := pro.sends("order.cancel", young)
	require.Equal(t, 22, passed) // 176 of 180
	require.Equal(t, 1066_666_667*time.Nanosecond, denial.RetryAfter, "4 at 3.75 a second")
}

// OKX: new orders and amendments of a sub-account together, cancels never; each
// instrument counts for itself.
func TestVenueOKX(t *testing.T) {
	d := deskOf(t, venue.OKX(), 0)
	passed, denial := d.sends("order.new", 1)
	require.Equal(t, 60, passed)
	require.Equal(t, "instrument-new-2s", denial.Limit)
	require.Equal(t, int64(60), d.used("order.new"))
	require.True(t, d.send("order.batch", 940).Allowed)
	denial = d.send("order.replace", 1)
	require.False(t, denial.Allowed)
	require.Equal(t, "orders-2s", denial.Limit)
	require.Equal(t, 0, denial.Member)
	passed, denial = d.sends("order.cancel", 1)
	require.Equal(t, 60, passed, "the sub-account's limit is spent, and cancels are not in it")
	require.Equal(t, "instrument-cancel-2s", denial.Limit)
	d.at(2 * time.Second)
	passed, _ = d.sends("order.new", 1)
	require.Equal(t, 60, passed)
}

// Revolut: 7500 new orders and replaces in a sliding five seconds; a cancel weighs
// nothing.
func TestVenueRevolut(t *testing.T) {
	d := deskOf(t, venue.RevolutFIX(), 0)
	passed, denial := d.sends("order.new", 1)
	require.InDelta(t, 7500, passed, 7, "counted in groups of eight")
	require.LessOrEqual(t, passed, 7500)
	require.LessOrEqual(t, denial.RetryAfter, 5*time.Second+8)
	require.False(t, d.send("order.replace", 1).Allowed)
	for range 10_000 {
		require.True(t, d.handles["order.cancel"].AllowAt(d.clock.Now(), 1))
	}
	require.True(t, d.send("order.cancel", 1).Allowed)
}

// Binance: an order passes only if the address's weight, its requests and the
// account's orders all have room, or takes nothing.
func TestVenueBinanceAllOrNothing(t *testing.T) {
	d := deskOf(t, venue.BinanceSpot(), 5*time.Second)
	passed, denial := d.sends("order.new", 1)
	require.Equal(t, 100, passed)
	require.Equal(t, "orders-10s", denial.Limit)
	require.Equal(t, 2, denial.Member)
	require.Equal(t, 5*time.Second, denial.RetryAfter, "when the clock's ten seconds are over")
	require.Equal(t, int64(100), d.used("weight"))
	require.Equal(t, int64(100), d.used("request"))

	require.True(t, d.send("query", 5900).Allowed)
	d.at(5 * time.Second)
	denial = d.send("order.new", 1)
	require.Equal(t, "weight-1m", denial.Limit)
	require.Equal(t, 50*time.Second, denial.RetryAfter)
	require.Equal(t, int64(0), d.used("order.new"), "ten new seconds")
}

// answer applies a reply to the decision it answers, as a gateway does.
func (d *desk) answer(m message, of tickgate.Decision, class string, headers map[string]string, status int) venue.Feedback {
	f := d.preset.Feedback(class, func(name string) string { return headers[name] }, status, time.Unix(0, int64(d.clock.Now())))
	kind, _ := d.preset.Message(class)
	for _, u := range f.Used {
		member := slices.IndexFunc(kind.Draws, func(draw venue.Draw) bool { return draw.Endpoint == u.Endpoint })
		m.group.SyncUsed(of, member, u.Limit, u.Used)
	}
	if f.BanFor > 0 {
		for _, draw := range kind.Draws {
			d.handles[draw.Endpoint].Ban(d.clock.Now().Add(f.BanFor))
		}
	}
	return f
}

// Binance says in every reply what it has counted. Others use the same address and
// the same account; what is on its way is counted on top.
func TestVenueBinanceHeaders(t *testing.T) {
	d := deskOf(t, venue.BinanceSpot(), 0)
	m := messageOf(t, d.gate, d.preset, "order.new", 1)
	var sent []tickgate.Decision
	for range 3 {
		sent = append(sent, m.group.TakeEachAt(d.clock.Now(), m.each...))
	}
	d.at(20 * time.Millisecond)
	reply := func(of int, weight, orders int) {
		f := d.answer(m, sent[of], "order.new", map[string]string{
			"X-MBX-USED-WEIGHT-1M": strconv.Itoa(weight), "X-MBX-ORDER-COUNT-10S": strconv.Itoa(orders),
		}, 200)
		require.NoError(t, f.Err)
		require.Len(t, f.Used, 2)
	}
	reply(0, 4001, 41)
	require.Equal(t, int64(4003), d.used("weight"), "two are on their way")
	require.Equal(t, int64(43), d.used("order.new"))
	require.Equal(t, int64(3), d.used("request"), "no header for these")
	reply(2, 4003, 43)
	reply(1, 4002, 42) // late
	require.Equal(t, int64(4003), d.used("weight"))
	passed, _ := d.sends("order.new", 1)
	require.Equal(t, 57, passed)

	// An accepted order's weight is given back, a filled order's place too; both
	// never below nothing used.
	kind, _ := d.preset.Message("order.new")
	for _, back := range kind.Accepted {
		d.handles[back.Endpoint].Credit(back.Cost)
	}
	require.Equal(t, int64(4059), d.used("weight"))
	for _, back := range kind.Filled {
		d.handles[back.Endpoint].Credit(back.Cost)
	}
	passed, _ = d.sends("order.new", 1)
	require.Equal(t, 1, passed)
	d.at(time.Minute)
	for _, back := range append(kind.Accepted, kind.Filled...) {
		d.handles[back.Endpoint].Credit(back.Cost)
	}
	passed, _ = d.sends("order.new", 1)
	require.Equal(t, 100, passed, "no credit is carried into the next window")

	// A count of the minute before does not touch this one.
	reply(0, 6000, 100)
	require.Equal(t, int64(100), d.used("weight"))
}

// Status 429 stops everything that the request drew on, cancels too, for as long as
// the reply says.
func TestVenueBinanceBan(t *testing.T) {
	d := deskOf(t, venue.BinanceSpot(), 0)
	m := messageOf(t, d.gate, d.preset, "query", 20)
	sent := m.group.TakeEachAt(d.clock.Now(), m.each...)
	f := d.answer(m, sent, "query", map[string]string{"Retry-After": "17", "X-MBX-USED-WEIGHT-1M": "6100"}, 429)
	require.Equal(t, 17*time.Second, f.BanFor)
	cancel := messageOf(t, d.gate, d.preset, "order.cancel", 1)
	denial := cancel.group.TakeUrgentEachAt(d.clock.Now(), cancel.each...)
	require.Equal(t, tickgate.Banned, denial.Reason)
	require.Equal(t, 17*time.Second, denial.RetryAfter)
	d.at(17 * time.Second)
	denial = cancel.group.TakeUrgentEachAt(d.clock.Now(), cancel.each...)
	require.Equal(t, "weight-1m", denial.Limit, "others have used up the minute")
	require.Equal(t, 43*time.Second, denial.RetryAfter)
	d.at(time.Minute)
	require.True(t, cancel.group.TakeUrgentEachAt(d.clock.Now(), cancel.each...).Allowed)
}

// An order that is decided on just after a boundary may be counted in either window
// by the venue. What the reply to it says is of one of them, and nobody knows which:
// it must not make room in the window before.
func TestVenueCountAcrossTheBoundary(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, "100/10s aligned skew=20ms name=orders")
	h := handleOf(t, g, "account")
	boundary := clock.Time(2 * time.Hour)
	c.Set(boundary.Add(-5 * time.Second))
	require.True(t, h.AllowAt(c.Now(), 90))
	c.Set(boundary.Add(time.Millisecond))
	d := h.TakeAt(c.Now(), 1)
	require.True(t, d.Allowed)
	c.Set(boundary.Add(10 * time.Millisecond)) // the venue had it in the new window, alone
	h.SyncUsed(d, "orders", 1)
	require.Equal(t, 9, drain(func() bool { return h.AllowAt(c.Now(), 1) }), "the venue has 90 in the window before, and may count these there")
}

// A count of the venue far above what fits, because what was sent last arrived
// first or others used the rest, is forgotten when the next count says otherwise,
// and leaves no room behind.
func TestVenueCountAboveTheLimit(t *testing.T) {
	for _, limit := range []string{"100/10s aligned name=orders", "100/10s from-first name=orders", "100/10s rolling name=orders", "100/10s name=orders"} {
		g, c := gateOf(t, tickgate.Config{Wall: clock.NewManualWall(0)}, limit)
		h := handleOf(t, g, "account")
		first := h.TakeAt(c.Now(), 1)
		require.True(t, h.AllowAt(c.Now(), 98))
		last := h.TakeAt(c.Now(), 1)
		require.True(t, last.Allowed)
		h.SyncUsed(first, "orders", 100) // and 99 since
		require.Zero(t, h.TakeAt(c.Now(), 0).Remaining, limit)
		h.SyncUsed(last, "orders", 100)
		require.Zero(t, h.TakeAt(c.Now(), 0).Remaining, limit)
		h.SyncUsed(last, "orders", 90)
		require.Equal(t, int64(10), h.TakeAt(c.Now(), 0).Remaining, limit)
	}
}

// A venue that counts in a rolling window had forgotten what was still counted here
// when the message was decided on. By the time of its reply that is forgotten here
// too: it must not be taken off once more, from what came later.
func TestVenueCountOfTheRollingWindow(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/s rolling name=orders")
	h := handleOf(t, g, "UID")
	start := c.Now()
	require.True(t, h.AllowAt(c.Now(), 5))
	c.Set(start.Add(995 * time.Millisecond))
	d := h.TakeAt(c.Now(), 1) // is there after 1002 ms, when the five are over
	require.True(t, d.Allowed)
	c.Set(start.Add(1010 * time.Millisecond))
	require.Equal(t, int64(9), h.TakeAt(c.Now(), 0).Remaining)
	h.SyncUsed(d, "orders", 1)
	require.Equal(t, int64(9), h.TakeAt(c.Now(), 0).Remaining)
}
