package venue

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// headers is a set of headers whose names are of any case.
func headers(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[strings.ToLower(pairs[i])] = pairs[i+1]
	}
	return func(name string) string { return m[strings.ToLower(name)] }
}

func TestFeedbackOfBinance(t *testing.T) {
	p := BinanceSpot()
	f := p.Feedback("order.new", headers(
		"X-MBX-USED-WEIGHT-1M", "70", "X-MBX-ORDER-COUNT-10S", "3", "X-MBX-ORDER-COUNT-1D", "1043"), 200, noon)
	require.Equal(t, Feedback{Used: []Used{
		{"weight", "weight-1m", 70}, {"order.new", "orders-10s", 3}, {"order.new", "orders-1d", 1043},
	}}, f)

	// A query has no count of orders, though the header be there.
	f = p.Feedback("query", headers("X-MBX-USED-WEIGHT-1M", "0", "X-MBX-ORDER-COUNT-10S", "3"), 200, noon)
	require.Equal(t, Feedback{Used: []Used{{"weight", "weight-1m", 0}}}, f)

	f = p.Feedback("query", headers("X-MBX-USED-WEIGHT-1M", "6007", "Retry-After", "17"), 429, noon)
	require.Equal(t, Feedback{Used: []Used{{"weight", "weight-1m", 6007}}, BanFor: 17 * time.Second}, f)
	require.Equal(t, Feedback{BanFor: 72 * time.Hour}, p.Feedback("query", headers("Retry-After", "259200"), 418, noon))
	require.Equal(t, Feedback{BanFor: time.Minute}, p.Feedback("query", headers(), 429, noon))
	require.Equal(t, Feedback{BanFor: 2 * time.Minute}, p.Feedback("query", nil, 418, noon))
	require.Equal(t, Feedback{}, p.Feedback("query", headers("Retry-After", "17"), 200, noon))
	require.Equal(t, 30*time.Second,
		p.Feedback("query", headers("Retry-After", "Mon, 30 Nov 2026 12:00:30 GMT"), 429, noon).BanFor)

	require.Equal(t, []Used{{"weight", "weight-1m", 2399}, {"order.new", "orders-10s", 300}},
		BinanceUSDM().Feedback("order.new", headers("X-MBX-USED-WEIGHT-1M", "2399", "X-MBX-ORDER-COUNT-10S", " 300 "), 200, noon).Used)
}

func TestFeedbackOfBybit(t *testing.T) {
	p := Bybit()
	millis := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).UnixMilli(), 10) }
	f := p.Feedback("order.new", headers("X-Bapi-Limit", "10", "X-Bapi-Limit-Status", "9",
		"X-Bapi-Limit-Reset-Timestamp", millis(time.Millisecond)), 200, noon)
	require.Equal(t, Feedback{Used: []Used{{"order.new", "new-1s", 1}}}, f)
	f = p.Feedback("order.cancel", headers("X-Bapi-Limit-Status", "0",
		"X-Bapi-Limit-Reset-Timestamp", millis(250*time.Millisecond)), 200, noon)
	require.Equal(t, Feedback{Used: []Used{{"order.cancel", "cancel-1s", 10}}, BanFor: 250 * time.Millisecond}, f)
	f = p.Feedback("order.cancel", headers("X-Bapi-Limit-Status", "0", "X-Bapi-Limit-Reset-Timestamp", millis(-time.Second)), 200, noon)
	require.Zero(t, f.BanFor)
	require.NoError(t, f.Err)
	// An account with a higher limit than the preset's.
	f = p.Feedback("query", headers("X-Bapi-Limit-Status", "180"), 200, noon)
	require.Equal(t, Feedback{Used: []Used{{"query", "query-1s", 0}}}, f)
	require.Equal(t, 10*time.Minute, p.Feedback("query", headers(), 403, noon).BanFor)
}

func TestFeedbackOfBitMEX(t *testing.T) {
	p := BitMEX()
	f := p.Feedback("order.new", headers("x-ratelimit-remaining", "57", "x-ratelimit-remaining-1s", "8"), 200, noon)
	require.Equal(t, Feedback{Used: []Used{{"request", "requests-1m", 3}, {"order", "orders-1s", 2}}}, f)
	f = p.Feedback("query", headers("x-ratelimit-remaining", "0", "Retry-After", "3"), 429, noon)
	require.Equal(t, Feedback{Used: []Used{{"request", "requests-1m", 60}}, BanFor: 3 * time.Second}, f)

	// With a guarded set in the preset, what remains is turned around with its
	// lower capacity, never below zero.
	p.Policies = Guard(p.Policies, 10*time.Second)
	f = p.Feedback("query", headers("x-ratelimit-remaining", "57"), 200, noon)
	require.Equal(t, []Used{{"request", "requests-1m", 0}}, f.Used)
}

func TestFeedbackOfVenuesWithoutHeaders(t *testing.T) {
	for _, p := range All() {
		for _, m := range p.Messages {
			require.Equal(t, Feedback{}, p.Feedback(m.Class, headers(), 200, noon), p.Name)
			require.Equal(t, Feedback{}, p.Feedback(m.Class, nil, 0, time.Time{}), p.Name)
		}
	}
	require.Equal(t, Feedback{BanFor: time.Second}, CoinbaseExchange().Feedback("query", headers(), 429, noon))
}

var hostile = []string{
	"-1", "+1", "1.5", "NaN", "Inf", "1e3", "1e30", "0x10", "1_000", " ", "\x00", "\xff", "abc", "١", "1 2",
	"1" + strings.Repeat("0", 30), "9223372036854775807", "9223372036854775808", "18446744073709551616",
	strings.Repeat("9", 100_000),
}

func TestFeedbackIgnoresHostileHeaders(t *testing.T) {
	for _, value := range hostile {
		all := func(string) string { return value }
		for _, p := range All() {
			for _, m := range p.Messages {
				for _, status := range []int{200, 403, 418, 429, 503, 0, -1, math.MaxInt} {
					f := p.Feedback(m.Class, all, status, noon)
					require.Empty(t, f.Used, "%s %q", p.Name, value)
					require.GreaterOrEqual(t, f.BanFor, time.Duration(0))
					require.LessOrEqual(t, f.BanFor, maxBan)
				}
			}
		}
		f := BinanceSpot().Feedback("order.new", all, 429, noon)
		require.Equal(t, time.Minute, f.BanFor, "%q", value)
		lines := strings.Split(f.Err.Error(), "\n")
		require.Len(t, lines, 4, "three counts and the wait")
		for _, line := range lines {
			require.Less(t, len(line), 300)
			require.Contains(t, line, "header ")
		}
		var fault *policy.ConfigError
		require.ErrorAs(t, f.Err, &fault)
	}
	// One bad header does not take the others with it.
	f := BinanceSpot().Feedback("order.new", headers("X-MBX-USED-WEIGHT-1M", "NaN", "X-MBX-ORDER-COUNT-10S", "3"), 200, noon)
	require.Equal(t, []Used{{"order.new", "orders-10s", 3}}, f.Used)
	require.EqualError(t, f.Err, `header X-MBX-USED-WEIGHT-1M = "NaN": not a whole number; ignored`)
	// A count that no others on the account can explain.
	f = BinanceSpot().Feedback("query", headers("X-MBX-USED-WEIGHT-1M", "700000"), 200, noon)
	require.EqualError(t, f.Err, `header X-MBX-USED-WEIGHT-1M = 700000: far above the limit's capacity; ignored`)

	for value, reason := range map[string]string{
		"0":                             "must be above zero",
		"2592001":                       "waits longer than 30 days",
		"Mon, 30 Nov 2026 11:59:59 GMT": "a time that has passed",
		"Fri, 31 Dec 9999 23:59:59 GMT": "waits longer than 30 days",
		"Mon, 30 Nov 2026 12:00:30 CET": "neither a whole number of seconds nor an HTTP date",
	} {
		f := BinanceSpot().Feedback("query", headers("Retry-After", value), 429, noon)
		require.ErrorContains(t, f.Err, reason, value)
		require.Equal(t, time.Minute, f.BanFor)
	}
}

func TestFeedbackOfAnUnknownClass(t *testing.T) {
	f := BinanceSpot().Feedback("order", headers("X-MBX-USED-WEIGHT-1M", "70", "Retry-After", "5"), 429, noon)
	require.Empty(t, f.Used)
	require.Equal(t, 5*time.Second, f.BanFor)
	require.ErrorContains(t, f.Err, `class = "order": not a class of messages of binance-spot`)
}

func FuzzFeedback(f *testing.F) {
	for _, value := range append(hostile[:19:19], "70", "Mon, 30 Nov 2026 12:00:30 GMT", "1796040000250") {
		f.Add(value, 429, noon.UnixNano())
	}
	f.Fuzz(func(t *testing.T, value string, status int, now int64) {
		for _, p := range All() {
			for _, m := range p.Messages {
				got := p.Feedback(m.Class, func(string) string { return value }, status, time.Unix(0, now))
				require.True(t, got.BanFor >= 0 && got.BanFor <= maxBan, "%v", got.BanFor)
				for _, u := range got.Used {
					require.GreaterOrEqual(t, u.Used, int64(0))
					counted, ok := p.Policies.Lookup(u.Endpoint)
					require.True(t, ok)
					for _, l := range counted.Limits {
						if l.Name == u.Limit {
							require.LessOrEqual(t, u.Used/(maxOver+1), l.Capacity())
						}
					}
				}
			}
		}
	})
}
