package policy

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		in    string
		want  Limit
		print string
	}{
		{"100/s", Limit{Tokens: 100, Per: time.Second}, "100/s"},
		{"100/1s", Limit{Tokens: 100, Per: time.Second}, "100/s"},
		{" 100/s\n", Limit{Tokens: 100, Per: time.Second}, "100/s"},
		{"0100/01s", Limit{Tokens: 100, Per: time.Second}, "100/s"},
		{"100/10s", Limit{Tokens: 100, Per: 10 * time.Second}, "100/10s"},
		{"5/60s", Limit{Tokens: 5, Per: time.Minute}, "5/m"},
		{"5/90s", Limit{Tokens: 5, Per: 90 * time.Second}, "5/90s"},
		{"5/120min", Limit{Tokens: 5, Per: 2 * time.Hour}, "5/2h"},
		{"6000/m burst=200", Limit{Tokens: 6000, Per: time.Minute, Burst: 200}, "6000/m burst=200"},
		{"100/s burst=100", Limit{Tokens: 100, Per: time.Second, Burst: 100}, "100/s burst=100"},
		{"10/1s rolling", Limit{Tokens: 10, Per: time.Second, Window: Rolling}, "10/s rolling"},
		{"10/1s  aligned", Limit{Tokens: 10, Per: time.Second, Window: Aligned}, "10/s aligned"},
		{"10/1s\tfrom-first", Limit{Tokens: 10, Per: time.Second, Window: FromFirst}, "10/s from-first"},
		{"10/1s token-bucket", Limit{Tokens: 10, Per: time.Second}, "10/s"},
		{"100/hour", Limit{Tokens: 100, Per: time.Hour}, "100/h"},
		{"100/2hours", Limit{Tokens: 100, Per: 2 * time.Hour}, "100/2h"},
		{"10r/s", Limit{Tokens: 10, Per: time.Second}, "10/s"},
		{"30r/min", Limit{Tokens: 30, Per: time.Minute}, "30/m"},
		{"10-S", Limit{Tokens: 10, Per: time.Second}, "10/s"},
		{"10-M", Limit{Tokens: 10, Per: time.Minute}, "10/m"},
		{"10-h", Limit{Tokens: 10, Per: time.Hour}, "10/h"},
		{"10-D burst=3", Limit{Tokens: 10, Per: Day, Burst: 3}, "10/d burst=3"},
		{"1/d", Limit{Tokens: 1, Per: Day}, "1/d"},
		{"1/24h", Limit{Tokens: 1, Per: Day}, "1/d"},
		{"7/7days", Limit{Tokens: 7, Per: 7 * Day}, "7/7d"},
		{"365/365d", Limit{Tokens: 365, Per: 365 * Day}, "365/365d"},
		{"2e9/s", Limit{Tokens: 2e9, Per: time.Second}, "2000000000/s"},
		{"2/ns", Limit{Tokens: 2, Per: 1}, "2/ns"},
		{"1e6/1s", Limit{Tokens: 1e6, Per: time.Second}, "1000000/s"},
		{"5/250ms", Limit{Tokens: 5, Per: 250 * time.Millisecond}, "5/250ms"},
		{"5/1500millisecond", Limit{Tokens: 5, Per: 1500 * time.Millisecond}, "5/1500ms"},
		{"5/10us", Limit{Tokens: 5, Per: 10 * time.Microsecond}, "5/10us"},
		{"5/10µs", Limit{Tokens: 5, Per: 10 * time.Microsecond}, "5/10us"},
		{"100/h name=hour", Limit{Name: "hour", Tokens: 100, Per: time.Hour}, "100/h name=hour"},
		{"100/h name=x rolling", Limit{Name: "x", Tokens: 100, Per: time.Hour, Window: Rolling}, "100/h rolling name=x"},
		{`100/h name="per hour" burst=7`, Limit{Name: "per hour", Tokens: 100, Per: time.Hour, Burst: 7}, `100/h burst=7 name="per hour"`},
		{`100/h name="hour"`, Limit{Name: "hour", Tokens: 100, Per: time.Hour}, "100/h name=hour"},
		{"100/h name=a=b", Limit{Name: "a=b", Tokens: 100, Per: time.Hour}, "100/h name=a=b"},
		{"5/s rolling burst=5", Limit{Tokens: 5, Per: time.Second, Burst: 5, Window: Rolling}, "5/s burst=5 rolling"},
		{"5/s reserve=2", Limit{Tokens: 5, Per: time.Second, Reserve: 2}, "5/s reserve=2"},
		{"5/s reserve=8 burst=9", Limit{Tokens: 5, Per: time.Second, Burst: 9, Reserve: 8}, "5/s burst=9 reserve=8"},
		{"300/10s skew=50ms aligned", Limit{Tokens: 300, Per: 10 * time.Second, Window: Aligned, Skew: 50 * time.Millisecond}, "300/10s aligned skew=50ms"},
		{"500/3s from-first skew=1s", Limit{Tokens: 500, Per: 3 * time.Second, Window: FromFirst, Skew: time.Second}, "500/3s from-first skew=1s"},
		{"500/3s from-first skew=sec", Limit{Tokens: 500, Per: 3 * time.Second, Window: FromFirst, Skew: time.Second}, "500/3s from-first skew=1s"},
		{
			"10/s name=x skew=1500us rolling reserve=1e0 burst=10",
			Limit{Name: "x", Tokens: 10, Per: time.Second, Burst: 10, Window: Rolling, Reserve: 1, Skew: 1500 * time.Microsecond},
			"10/s burst=10 reserve=1 rolling skew=1500us name=x",
		},
		{"1/d rolling skew=5d", Limit{Tokens: 1, Per: Day, Window: Rolling, Skew: 5 * Day}, "1/d rolling skew=5d"},
		{"1073741824/s rolling", Limit{Tokens: 1 << 30, Per: time.Second, Window: Rolling}, "1073741824/s rolling"},
		{"unlimited", Limit{Window: Unlimited}, "unlimited"},
		{"deny", Limit{Window: Deny}, "deny"},
		{"deny name=halt", Limit{Name: "halt", Window: Deny}, "deny name=halt"},
		// The longest refill: a year for the whole burst.
		{"1/d burst=365", Limit{Tokens: 1, Per: Day, Burst: 365}, "1/d burst=365"},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := ParseLimit(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.print, got.String())
			again, err := ParseLimit(got.String())
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestParseLimitRefuses(t *testing.T) {
	for _, c := range []struct{ in, reason string }{
		{"", "empty"},
		{"  ", "empty"},
		{"abc", "not a rate"},
		{"100", "not a rate"},
		{"NaN", "not a rate"},
		{"1e30", "not a rate"},
		{"-1", "not a rate"},
		{"0", "not a rate"},
		{"0/s", "tokens must be above zero"},
		{"-1/s", "the tokens before the slash must be a whole number"},
		{"+1/s", "the tokens before the slash must be a whole number"},
		{"1.5/s", "the tokens before the slash must be a whole number"},
		{"NaN/s", "the tokens before the slash must be a whole number"},
		{"Inf/s", "the tokens before the slash must be a whole number"},
		{"/s", "the tokens before the slash must be a whole number"},
		{"r/s", "the tokens before the slash must be a whole number"},
		{"1_000/s", "the tokens before the slash must be a whole number"},
		{"10k/s", "the tokens before the slash must be a whole number"},
		{"e3/s", "the tokens before the slash must be a whole number"},
		{"1e/s", "the tokens before the slash must be a whole number"},
		{"1e-3/s", "the tokens before the slash must be a whole number"},
		{"1e30/s", "the tokens before the slash must be at most 9223372036854775807"},
		{"1e999/s", "the tokens before the slash must be at most 9223372036854775807"},
		{"9223372036854775808/s", "the tokens before the slash must be at most 9223372036854775807"},
		{"2000000001/s", "tokens must be at most 2e9 a second"},
		{"3/ns", "tokens must be at most 2e9 a second"},
		{"9223372036854775807/365d", "tokens must be at most 2e9 a second"},
		{"1/25h", "tokens must be at least one a day"},
		{"6/7d", "tokens must be at least one a day"},
		{"366/366d", "per must be at most 365d"},
		{"1/106752d", "the period after the slash must be at most 365d"},
		{"1/9223372036854775807d", "the period after the slash must be at most 365d"},
		{"1/99999999999999999999s", "the period after the slash must be at most"},
		{"1/0s", "per must be above zero"},
		{"1/-1s", "the period after the slash must be a whole number and a unit"},
		{"1/1.5s", "the period after the slash must be a whole number and a unit"},
		{"1/1h30m", "the period after the slash must be a whole number and a unit"},
		{"1/", "the period after the slash must be a whole number and a unit"},
		{"1/60", "the period after the slash must be a whole number and a unit"},
		{"1/week", "the period after the slash must be a whole number and a unit"},
		{"1/s/s", "the period after the slash must be a whole number and a unit"},
		{"1/S", "the period after the slash must be a whole number and a unit"},
		{"1 / s", "not a rate"},
		{"10-X", "after the dash must come S, M, H or D"},
		{"10-", "after the dash must come S, M, H or D"},
		{"x-S", "the tokens before the dash must be a whole number"},
		{"10/s burst=0", "burst must be above zero, or left out"},
		{"10/s burst=-1", "burst must be a whole number"},
		{"10/s burst=", "burst must be a whole number"},
		{"10/s burst=1.5", "burst must be a whole number"},
		{"10/s burst=1e30", "burst must be at most 9223372036854775807"},
		{"10/s burst=9223372036854775807", "burst must refill within 365d"},
		{"1/d burst=366", "burst must refill within 365d"},
		{"10/s burst=5 burst=6", "burst given twice"},
		{"10/s reserve=0", "reserve must be above zero, or left out"},
		{"10/s reserve=-1", "reserve must be a whole number"},
		{"10/s reserve=", "reserve must be a whole number"},
		{"10/s reserve=1e30", "reserve must be at most 9223372036854775807"},
		{"10/s reserve=10", "reserve must be below the capacity of 10, so that ordinary calls can pass"},
		{"10/s burst=5 reserve=5", "reserve must be below the capacity of 5"},
		{"10/s reserve=1 reserve=1", "reserve given twice"},
		{"0/s reserve=3", "tokens must be above zero;"},
		{"unlimited reserve=1", "unlimited takes nothing but a name"},
		{"deny skew=1s", "deny takes nothing but a name"},
		{"10/s aligned skew=0s", "skew must be above zero, or left out"},
		{"10/s aligned skew=-1s", "skew must be a whole number and a unit"},
		{"10/s aligned skew=", "skew must be a whole number and a unit"},
		{"10/s aligned skew=50", "skew must be a whole number and a unit"},
		{"10/s aligned skew=107000d", "skew must be at most 365d"},
		{"10/s aligned skew=1ms skew=1ms", "skew given twice"},
		{"10/s skew=1ms", "skew must be left out of a token bucket; lower its burst by rate x jitter instead"},
		{"10/s aligned skew=500ms", "skew must be less than half the period of 1s"},
		{"10/s from-first skew=500ms", "skew must be less than half the period of 1s"},
		{"1/d rolling skew=365d", "skew must be at most 6d together with the period"},
		{"1073741825/s rolling", "tokens must be at most 1073741824 in a window; only a token bucket holds more"},
		{"1073741825/s aligned", "tokens must be at most 1073741824 in a window"},
		{"1073741825/s from-first", "tokens must be at most 1073741824 in a window"},
		{"5/s reserve=7 skew=1s", "reserve must be below the capacity of 5, so that ordinary calls can pass, skew must be left out of"},
		{"10/s burst", `unknown option "burst"`},
		{"10/s Burst=5", `unknown option "Burst=5"`},
		{"10/s burts=5", `unknown option "burts=5"`},
		{"10/s sliding", `unknown option "sliding"`},
		{"10/s rolling aligned", "more than one window"},
		{"10/s rolling rolling", "more than one window"},
		{"10/s rolling burst=20", "burst must be left out: only a token bucket has a burst"},
		{"10/s deny", `unknown option "deny"`},
		{"10/s name=", "name must not be empty"},
		{`10/s name=""`, "name must not be empty"},
		{"10/s name=a name=b", "name given twice"},
		{`10/s name="a`, "a quote is not closed"},
		{`10/s name="a"b`, "a space must follow the closing quote"},
		{`10/s name=a"b`, "name must be printable ASCII"},
		{`10/s name=a\b`, "name must be printable ASCII"},
		{"10/s name=é", "name must be printable ASCII"},
		{"10/s name=" + strings.Repeat("x", 65), "name must be at most 64 bytes, has 65"},
		{"unlimited burst=5", "unlimited takes nothing but a name"},
		{"deny rolling", "deny takes nothing but a name"},
		{"deny 10/s", "deny takes nothing but a name"},
		{"DENY", "not a rate"},
		{"10\x00/s", "the tokens before the slash must be a whole number"},
		{"\xff\xfe", "not a rate"},
		{"0/s burst=-0", "burst must be a whole number"},
		{"0/0s", "tokens must be above zero, per must be above zero"},
	} {
		t.Run(c.in, func(t *testing.T) {
			l, err := ParseLimit(c.in)
			require.Error(t, err)
			require.Zero(t, l)
			var fault *ConfigError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, "limit", fault.Field)
			require.Equal(t, c.in, fault.Value)
			require.True(t, strings.HasPrefix(fault.Reason, c.reason), fault.Reason)
			require.Contains(t, err.Error(), `as in "100/s"`)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestErrorIsOneShortLine(t *testing.T) {
	_, err := ParseLimit(strings.Repeat("é\n", 100_000))
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 1000)
	require.Contains(t, err.Error(), `limit = "é\n`)
	// A value is cut between characters, not within one.
	_, err = ParseLimit("x" + strings.Repeat("é", 100))
	require.Contains(t, err.Error(), `é"...: not a rate`)
	require.NotContains(t, err.Error(), `\x`)

	require.Equal(t, "MaxKeys = -1: must not be negative",
		(&ConfigError{"MaxKeys", "-1", "must not be negative"}).Error())
	require.Equal(t, `x = "": must not be empty`, (&ConfigError{"x", "", "must not be empty"}).Error())
}

func TestParseRate(t *testing.T) {
	r, err := ParseRate("700/min")
	require.NoError(t, err)
	require.Equal(t, Rate{700, time.Minute}, r)
	require.Equal(t, "700/m", r.String())
	require.Equal(t, r, Limit{Tokens: 700, Per: time.Minute}.Rate())

	for _, in := range []string{"", "0/s", "1/0s", "-1/s", "1e30/s", "abc", "100/s burst=2", "3e9/s", "1/2d", "unlimited"} {
		_, err := ParseRate(in)
		var fault *ConfigError
		require.ErrorAs(t, err, &fault, in)
		require.Equal(t, "rate", fault.Field)
	}
}

func TestEveryUnitByEveryName(t *testing.T) {
	for want, names := range map[time.Duration][]string{
		time.Nanosecond:  {"ns", "nanosecond", "nanoseconds"},
		time.Microsecond: {"us", "\u00b5s", "\u03bcs", "microsecond", "microseconds"},
		time.Millisecond: {"ms", "msec", "millisecond", "milliseconds"},
		time.Second:      {"s", "sec", "secs", "second", "seconds"},
		time.Minute:      {"m", "min", "mins", "minute", "minutes"},
		time.Hour:        {"h", "hr", "hrs", "hour", "hours"},
		Day:              {"d", "day", "days"},
	} {
		for _, name := range names {
			r, err := ParseRate("1/" + name)
			require.NoError(t, err, name)
			require.Equal(t, want, r.Per, name)
		}
	}
}

func TestFormatPeriod(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "ns", -1: "-1ns", time.Second: "s", -time.Second: "-1s", 36 * time.Hour: "36h",
		time.Second + 1: "1000000001ns", math.MaxInt64: "9223372036854775807ns", math.MinInt64: "-9223372036854775808ns",
	} {
		require.Equal(t, want, formatPeriod(d))
	}
}

func TestParseAssign(t *testing.T) {
	endpoint, l, err := ParseAssign("order.new=100/s burst=20")
	require.NoError(t, err)
	require.Equal(t, "order.new", endpoint)
	require.Equal(t, Limit{Tokens: 100, Per: time.Second, Burst: 20}, l)

	endpoint, l, err = ParseAssign(" POST /memory/ingest = deny ")
	require.NoError(t, err)
	require.Equal(t, "POST /memory/ingest", endpoint)
	require.Equal(t, Limit{Window: Deny}, l)

	for in, want := range map[string]string{
		"":                                "assignment = \"\": no endpoint",
		"order.new":                       "no endpoint",
		"100/s burst=20":                  "no endpoint",
		"=100/s":                          "the endpoint must not be empty",
		"a\x00b=100/s":                    "the endpoint must not contain control characters",
		"order.new=":                      `order.new = "": empty`,
		"order.new=abc":                   `order.new = "abc": not a rate`,
		"order.new=0/s":                   `order.new = 0/s: tokens must be above zero`,
		"order.new=100/s brust=20":        `unknown option "brust=20"`,
		strings.Repeat("x", 257) + "=1/s": "the endpoint must be at most 256 bytes, has 257",
	} {
		endpoint, l, err := ParseAssign(in)
		require.ErrorContains(t, err, want, in)
		require.Zero(t, endpoint)
		require.Zero(t, l)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestWindowText(t *testing.T) {
	for w := TokenBucket; w <= Deny; w++ {
		got, err := ParseWindow(w.String())
		require.NoError(t, err)
		require.Equal(t, w, got)
		text, err := json.Marshal(w)
		require.NoError(t, err)
		var back Window = 99
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, w, back)
	}
	require.Equal(t, "window(9)", Window(9).String())
	_, err := Window(9).MarshalText()
	require.Error(t, err)
	_, err = ParseWindow("sliding")
	require.ErrorContains(t, err, "rolling")
	var w Window
	require.Error(t, w.UnmarshalText([]byte("Rolling")))
}

func TestCapacity(t *testing.T) {
	require.EqualValues(t, 100, Limit{Tokens: 100, Per: time.Second}.Capacity())
	require.EqualValues(t, 20, Limit{Tokens: 100, Per: time.Second, Burst: 20}.Capacity())
	require.EqualValues(t, 10, Limit{Tokens: 10, Per: time.Second, Window: Rolling}.Capacity())
	require.EqualValues(t, 0, Limit{Window: Deny}.Capacity())
	require.Equal(t, int64(math.MaxInt64), Limit{Window: Unlimited}.Capacity())
}

func TestLabel(t *testing.T) {
	require.Equal(t, "hour", Limit{Name: "hour", Tokens: 100, Per: time.Hour}.Label())
	require.Equal(t, "100/h", Limit{Tokens: 100, Per: time.Hour}.Label())
	require.Equal(t, "10/s rolling", Limit{Tokens: 10, Per: time.Second, Window: Rolling}.Label())
	require.Equal(t, "deny", Limit{Window: Deny}.Label())
}

func TestLimitText(t *testing.T) {
	l := Limit{Window: Deny}
	require.Error(t, l.UnmarshalText([]byte("abc")))
	require.Equal(t, Limit{Window: Deny}, l)
	require.NoError(t, l.UnmarshalText([]byte("5/60s")))
	require.Equal(t, Limit{Tokens: 5, Per: time.Minute}, l)
}

// String never panics and hides nothing of a limit that is not valid.
func TestStringOfInvalidLimits(t *testing.T) {
	require.Equal(t, "0/0s", Limit{}.String())
	require.Equal(t, "-1/-1s burst=-2 window(9)", Limit{Tokens: -1, Per: -time.Second, Burst: -2, Window: 9}.String())
	require.Equal(t, "-1/-1s reserve=-3 aligned skew=-4ns", Limit{Tokens: -1, Per: -time.Second, Window: Aligned, Reserve: -3, Skew: -4}.String())
	require.Equal(t, "deny reserve=3 skew=1s", Limit{Window: Deny, Reserve: 3, Skew: time.Second}.String())
	require.Equal(t, "unlimited 5/s burst=2", Limit{Tokens: 5, Per: time.Second, Burst: 2, Window: Unlimited}.String())
}

func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{
		"100/s", "6000/m burst=200", "10/1s rolling", "unlimited", "deny", "10r/s", "10-S", "1e6/250ms aligned",
		`100/h name="per hour" from-first`, "1/d burst=365", "2/ns", "9223372036854775807/365d", "1e30", "-1", "0/0s",
		"1/106752d", "NaN", "x=y", `name="`, "5/10µs", "5/s reserve=4", "300/10s reserve=9 aligned skew=50ms",
		"9/2s burst=9 rolling skew=1s name=x", "1e9/s from-first skew=499ms", "1/d rolling skew=5d",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimit(s)
		if err != nil {
			var fault *ConfigError
			require.True(t, errors.As(err, &fault))
			require.NotContains(t, err.Error(), "\n")
			require.Zero(t, l)
			return
		}
		require.NoError(t, l.Validate())
		require.True(t, sound(l), "%+v", l)
		again, err := ParseLimit(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
		require.Equal(t, l.String(), again.String())

		text, err := json.Marshal(l)
		require.NoError(t, err)
		var back Limit
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, l, back)
	})
}
