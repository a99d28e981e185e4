package venue

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

// limitsOf prints the limits of a count.
func limitsOf(t *testing.T, p Preset, endpoint string) []string {
	t.Helper()
	counted, ok := p.Policies.Lookup(endpoint)
	require.True(t, ok, endpoint)
	var out []string
	for _, l := range counted.Limits {
		out = append(out, l.String())
	}
	return out
}

func drawsOf(t *testing.T, p Preset, class string) []Draw {
	t.Helper()
	m, ok := p.Message(class)
	require.True(t, ok, class)
	return m.Draws
}

// Windows of the UTC clock; an order passes the limits of the IP address and of
// the account; a cancel is no order; a query weighs what its route weighs.
func TestBinanceDocumentedLimits(t *testing.T) {
	p := BinanceSpot()
	require.Equal(t, []string{"6000/m aligned name=weight-1m"}, limitsOf(t, p, "weight"))
	require.Equal(t, []string{"300000/5m aligned name=raw-5m"}, limitsOf(t, p, "request"))
	require.Equal(t, []string{"100/10s aligned name=orders-10s", "200000/d aligned name=orders-1d"}, limitsOf(t, p, "order.new"))
	require.Equal(t, []Draw{{"weight", 1}, {"request", 1}, {"order.new", 1}}, drawsOf(t, p, "order.new"))
	require.Equal(t, []Draw{{"weight", 1}, {"request", 1}}, drawsOf(t, p, "order.cancel"))
	require.Equal(t, []Draw{{"weight", ByCaller}, {"request", 1}}, drawsOf(t, p, "query"))
	m, _ := p.Message("order.new")
	require.Equal(t, []Draw{{"weight", 1}}, m.Accepted)
	require.Equal(t, []Draw{{"order.new", 1}}, m.Filled)

	require.Equal(t, []string{"10000/10s aligned name=messages-10s"}, limitsOf(t, BinanceFIX(), "message"))
	require.Equal(t, limitsOf(t, p, "order.new"), limitsOf(t, BinanceFIX(), "order.new"))

	p = BinanceUSDM()
	require.Equal(t, []string{"2400/m aligned name=weight-1m"}, limitsOf(t, p, "weight"))
	require.Equal(t, []string{"300/10s aligned name=orders-10s"}, limitsOf(t, p, "order.new"))
}

func TestBybitRollingSecondPerEndpoint(t *testing.T) {
	p := Bybit()
	require.Equal(t, []string{"600/5s rolling name=requests-5s"}, limitsOf(t, p, "request"))
	require.Equal(t, []string{"10/s rolling name=new-1s"}, limitsOf(t, p, "order.new"))
	require.Equal(t, []string{"10/s rolling name=cancel-1s"}, limitsOf(t, p, "order.cancel"))
	// A batch is one request of the IP address and as many orders as it holds.
	draws := drawsOf(t, p, "order.batch")
	require.Equal(t, []Draw{{"request", 1}, {"order.batch", ByCaller}}, draws)
	require.EqualValues(t, 1, draws[0].Tokens(8))
	require.EqualValues(t, 8, draws[1].Tokens(8))
}

func TestOKXCountsNewAndAmendTogetherAndNoCancels(t *testing.T) {
	p := OKX()
	require.Equal(t, []string{"1000/2s rolling name=orders-2s"}, limitsOf(t, p, "order.new"))
	require.Equal(t, []string{"unlimited name=cancels"}, limitsOf(t, p, "order.cancel"))
	require.Equal(t, "order.new", drawsOf(t, p, "order.new")[0].Endpoint)
	require.Equal(t, "order.new", drawsOf(t, p, "order.replace")[0].Endpoint)
	require.Equal(t, []Draw{{"order.new", ByCaller}}, drawsOf(t, p, "order.batch"))
	require.Equal(t, []Draw{{"order.cancel", 1}, {"instrument.cancel", 1}}, drawsOf(t, p, "order.cancel"))
}

func TestCoinbaseBurst30At15(t *testing.T) {
	counted, _ := CoinbaseExchange().Policies.Lookup("request")
	l := counted.Limits[0]
	require.Equal(t, policy.TokenBucket, l.Window)
	require.EqualValues(t, 30, l.Capacity())
	require.Equal(t, policy.Rate{Tokens: 15, Per: time.Second}, l.Rate())
	require.Equal(t, []string{"100/s rolling name=messages-1s"}, limitsOf(t, CoinbaseFIX(), "message"))
}

func TestKrakenCostsByAge(t *testing.T) {
	require.EqualValues(t, 8, KrakenCancelCost(3*time.Second))
	for _, c := range []struct {
		age           time.Duration
		cancel, amend int64
	}{
		{math.MinInt64, 8, 4}, {-1, 8, 4}, {0, 8, 4}, {5*time.Second - 1, 8, 4},
		{5 * time.Second, 6, 3}, {10*time.Second - 1, 6, 3},
		{10 * time.Second, 5, 2}, {15*time.Second - 1, 5, 2},
		{15 * time.Second, 4, 1}, {45*time.Second - 1, 4, 1},
		{45 * time.Second, 2, 1}, {90*time.Second - 1, 2, 1},
		{90 * time.Second, 1, 1}, {300*time.Second - 1, 1, 1},
		{300 * time.Second, 0, 1}, {math.MaxInt64, 0, 1},
	} {
		require.Equal(t, c.cancel, KrakenCancelCost(c.age), c.age)
		require.Equal(t, c.amend, KrakenAmendCost(c.age), c.age)
	}
}

// The counter is the used part of a bucket: a starter's has room for six orders
// cancelled at once, of 1 + 8 each, and not for a seventh.
func TestKrakenDecayingCounter(t *testing.T) {
	for _, c := range []struct {
		tier         KrakenTier
		engine, rest string
	}{
		{KrakenStarter, "1/s burst=60 name=counter", "33/100s burst=15 name=calls"},
		{KrakenIntermediate, "234/100s burst=125 name=counter", "1/2s burst=20 name=calls"},
		{KrakenPro, "375/100s burst=180 name=counter", "1/s burst=20 name=calls"},
		{99, "1/s burst=60 name=counter", "33/100s burst=15 name=calls"},
	} {
		require.Equal(t, []string{c.engine}, limitsOf(t, KrakenEngine(c.tier), "order"))
		require.Equal(t, []string{c.rest}, limitsOf(t, KrakenREST(c.tier), "request"))
		require.Equal(t, "kraken-"+c.tier.String(), KrakenEngine(c.tier).Name)
		require.Equal(t, "kraken-rest-"+c.tier.String(), KrakenREST(c.tier).Name)
	}
	counted, _ := KrakenEngine(KrakenStarter).Policies.Lookup("order")
	quick := 1 + KrakenCancelCost(time.Second)
	require.EqualValues(t, 6, counted.Limits[0].Capacity()/quick)
	require.Equal(t, []Draw{{"request", 2}}, drawsOf(t, KrakenREST(KrakenPro), "query.history"))
}

// 100 requests at once and 20 a second after that; 20 orders at once and 5 a
// second.
func TestDeribitCredits(t *testing.T) {
	p := Deribit()
	counted, _ := p.Policies.Lookup("query")
	l, cost := counted.Limits[0], drawsOf(t, p, "query")[0].Cost
	require.EqualValues(t, 100, l.Capacity()/cost)
	require.EqualValues(t, 20, l.Tokens/cost)
	require.Equal(t, time.Second, l.Per)
	require.Equal(t, []string{"5/s burst=20 name=engine"}, limitsOf(t, p, "order"))
}

func TestBitMEXBothLayers(t *testing.T) {
	p := BitMEX()
	require.Equal(t, []string{"60/m burst=60 name=requests-1m"}, limitsOf(t, p, "request"))
	require.Equal(t, []string{"10/s rolling name=orders-1s"}, limitsOf(t, p, "order"))
	for _, class := range []string{"order.new", "order.replace", "order.cancel"} {
		require.Equal(t, []Draw{{"request", 1}, {"order", 1}}, drawsOf(t, p, class))
	}
	require.Equal(t, []Draw{{"request", 1}}, drawsOf(t, p, "query"))
}

// 500 a second over three seconds from the first message, of all but cancels;
// cancels apart, 1000 a second.
func TestCMECountsFromTheFirstMessageAndCancelsApart(t *testing.T) {
	p := CMEiLink()
	for endpoint, perSecond := range map[string]int64{"message": 500, "order.cancel": 1000} {
		counted, _ := p.Policies.Lookup(endpoint)
		l := counted.Limits[0]
		require.Equal(t, policy.FromFirst, l.Window)
		require.Equal(t, 3*time.Second, l.Per)
		require.Equal(t, perSecond, l.Tokens/3)
	}
	for _, class := range []string{"order.new", "order.replace", "query"} {
		require.Equal(t, []Draw{{"message", 1}}, drawsOf(t, p, class))
	}
	require.Equal(t, []Draw{{"order.cancel", 1}}, drawsOf(t, p, "order.cancel"))
}

// With four throttles, 8 of 12 messages within one second of the clock pass.
func TestHKEXTwoPerClockSecondAndThrottle(t *testing.T) {
	require.Equal(t, []string{"2/s aligned name=messages-1s"}, limitsOf(t, HKEX(1), "message"))
	require.Equal(t, []string{"8/s aligned name=messages-1s"}, limitsOf(t, HKEX(4), "message"))
	require.NoError(t, HKEX(1<<29).Policies.Validate())
	for _, throttles := range []int64{0, -1, math.MinInt64, 1<<29 + 1, 1 << 30, 1 << 62, math.MinInt64 / 2, math.MaxInt64} {
		require.Error(t, HKEX(throttles).Policies.Validate(), throttles)
	}
}

func TestRevolutCancelsWeighNothing(t *testing.T) {
	p := RevolutFIX()
	require.Equal(t, []string{"7500/5s rolling name=orders-5s"}, limitsOf(t, p, "order.new"))
	require.Equal(t, []string{"unlimited name=cancels"}, limitsOf(t, p, "order.cancel"))
	require.Equal(t, drawsOf(t, p, "order.new"), drawsOf(t, p, "order.replace"))
}
