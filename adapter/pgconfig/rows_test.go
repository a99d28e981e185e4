package pgconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func text(s string) *string { return &s }

// good is a row as the table's defaults make it, with changes.
func good(endpoint string, change ...func(*row)) row {
	r := row{endpoint: endpoint, window: "token-bucket", capacity: text("100"), rate: text("100"),
		period: "1.000000", skew: "0.000000", calendar: "ff", reserve: "0", burst: "0"}
	for _, f := range change {
		f(&r)
	}
	return r
}

func TestRowsMeanPolicies(t *testing.T) {
	set, err := toSet([]row{
		good("a", func(r *row) { r.burst = "10" }),
		good("b", func(r *row) { r.capacity, r.rate, r.period = nil, text("5"), "60" }),
		good("c", func(r *row) { r.name, r.capacity, r.reserve, r.shadow = "burst", text("20"), "2", true }),
		good("c", func(r *row) {
			r.name, r.window, r.skew, r.shadow, r.capacity, r.rate = "pace", "aligned", "0.050000", true, text("300"), text("300")
			r.period = "10"
		}),
		good("d", func(r *row) { r.window, r.capacity, r.rate, r.period = "unlimited", nil, nil, "NULL" }),
		good("e", func(r *row) { r.window, r.capacity, r.rate = "deny", nil, nil }),
		good("f", func(r *row) { r.period = "0.000001"; r.rate, r.capacity = text("2000"), nil }),
		good("g", func(r *row) { r.period = "31536000.000000"; r.rate, r.capacity = text("365"), nil }),
	})
	require.NoError(t, err)
	require.Equal(t, policy.Set{
		{Endpoint: "a", Limits: []policy.Limit{{Tokens: 100, Per: time.Second}}, Credit: 10},
		{Endpoint: "b", Limits: []policy.Limit{{Tokens: 5, Per: time.Minute}}},
		{Endpoint: "c", Shadow: true, Limits: []policy.Limit{
			{Name: "burst", Tokens: 100, Per: time.Second, Burst: 20, Reserve: 2},
			{Name: "pace", Tokens: 300, Per: 10 * time.Second, Window: policy.Aligned, Skew: 50 * time.Millisecond},
		}},
		{Endpoint: "d", Limits: []policy.Limit{{Window: policy.Unlimited}}},
		{Endpoint: "e", Limits: []policy.Limit{{Window: policy.Deny}}},
		{Endpoint: "f", Limits: []policy.Limit{{Tokens: 2000, Per: time.Microsecond}}},
		{Endpoint: "g", Limits: []policy.Limit{{Tokens: 365, Per: policy.MaxPer}}},
	}, set)
}

func TestRowFaultsNameTheColumn(t *testing.T) {
	for want, change := range map[string]func(*row){
		`.refill_rate = 0: must be above zero`:                           func(r *row) { r.rate, r.capacity = text("0"), nil },
		`.refill_rate = "NULL": must be the tokens`:                      func(r *row) { r.rate = nil },
		`.refill_rate = 0.5: must be a whole number`:                     func(r *row) { r.rate = text("0.5") },
		`.refill_rate = 3000000000/s: must be at most 2e9 a second`:      func(r *row) { r.rate, r.capacity = text("3000000000"), nil },
		`.refill_period = 0s: must be above zero`:                        func(r *row) { r.period = "0" },
		`.refill_period = "2629800.000000 s": must not have months`:      func(r *row) { r.period, r.calendar = "2629800.000000", "tf" },
		`.refill_period = "NULL": must be an interval`:                   func(r *row) { r.period = "NULL" },
		`.refill_period = "NaN": must be an interval`:                    func(r *row) { r.period = "NaN" },
		`must be at most 365d`:                                           func(r *row) { r.period = "Infinity"; r.rate, r.capacity = text("1000000"), nil },
		`.capacity = 0: must be above zero, or NULL`:                     func(r *row) { r.capacity = text("0") },
		`.capacity = -1: must not be negative`:                           func(r *row) { r.capacity = text("-1") },
		`.capacity = 99999999999999999999: must be a whole number below`: func(r *row) { r.capacity = text("99999999999999999999") },
		`.capacity = 50: must be left out: only a token bucket`:          func(r *row) { r.window, r.capacity = "rolling", text("50") },
		`.window_kind = "hopping": not a window; write token-bucket`:     func(r *row) { r.window = "hopping" },
		`.reserve = 100: must be below the capacity of 100`:              func(r *row) { r.reserve = "100" },
		`.reserve = "NULL": must be a whole number`:                      func(r *row) { r.reserve = "NULL" },
		`.skew = 50ms: must be left out of a token bucket`:               func(r *row) { r.skew = "0.05" },
		`.skew = "1 s": must not have months`:                            func(r *row) { r.skew, r.calendar = "1", "ft" },
		`.burst_size = -5: must not be negative`:                         func(r *row) { r.burst = "-5" },
		`"n\"").name`:                                                    func(r *row) { r.name = `n"` },
	} {
		r := good("order.new", change)
		set, err := toSet([]row{good("other"), r})
		require.Nil(t, set, want)
		require.Error(t, err, want)
		require.NotContains(t, err.Error(), "\n", "one fault, one line")
		if strings.HasPrefix(want, ".") {
			want = `rate_limit_config["order.new"]` + want
		}
		if r.name != "" {
			want = `rate_limit_config["order.new" "n\""].name`
		}
		require.ErrorContains(t, err, want)
		var c *policy.ConfigError
		require.ErrorAs(t, err, &c)
	}
}

func TestRowsOfOneEndpointMustAgree(t *testing.T) {
	named := func(name string, change ...func(*row)) row {
		return good("a", append(change, func(r *row) { r.name = name })...)
	}
	_, err := toSet([]row{named("x"), named("y", func(r *row) { r.burst = "1" }), named("z", func(r *row) { r.shadow = true })})
	require.EqualError(t, err, `rate_limit_config["a" "y"].burst_size = 1: must be the same for all limits of the endpoint`+"\n"+
		`rate_limit_config["a" "z"].shadow = "true": must be the same for all limits of the endpoint`)

	_, err = toSet([]row{named("x"), named("y", func(r *row) { r.window, r.rate, r.capacity = "deny", nil, nil })})
	require.EqualError(t, err, `rate_limit_config["a" "y"].window_kind = "deny": must be the only limit of its policy`)

	var many []row
	for _, name := range strings.Split("abcdefghi", "") {
		many = append(many, named(name))
	}
	_, err = toSet(many)
	require.EqualError(t, err, `rate_limit_config["a" "a"].limits = 9: must be at most 8 limits`)

	_, err = toSet([]row{named(""), named("100/s")})
	require.ErrorContains(t, err, `rate_limit_config["a" "100/s"].name = 100/s: same name as limits[0]`)
}

// Text of any kind is shown on one line, and never mistaken for a path.
func TestHostileTextInRows(t *testing.T) {
	for _, endpoint := range []string{
		"", "\x00", "a\nb", "\x1b[31m", "\xff\xfe", strings.Repeat("x", 1<<20), "'; DROP TABLE rate_limit_config; --",
		`x).limits[7].per`, `policies[9](x).limits[9].burst`, "\u0085", `"`, `%s%d`,
	} {
		r := good(endpoint, func(r *row) { r.burst = "-1" })
		_, err := toSet([]row{r})
		require.Error(t, err)
		for _, line := range strings.Split(err.Error(), "\n") {
			require.True(t, strings.HasPrefix(line, "rate_limit_config["), "%.200q", line)
			require.Less(t, len(line), 700)
		}
		require.ErrorContains(t, err, "].burst_size = -1: must not be negative")
	}
	set, err := toSet([]row{good("'; DROP TABLE rate_limit_config; --")})
	require.NoError(t, err, "odd, and a name like any other")
	require.Len(t, set, 1)
}

func TestFaultsOfAHugeTableAreBounded(t *testing.T) {
	rows := make([]row, 50_000)
	for i := range rows {
		rows[i] = good(strings.Repeat("y", i%200+1)+string(rune('a'+i%26)), func(r *row) { r.burst, r.reserve = "-1", "x" })
	}
	_, err := toSet(rows)
	require.Error(t, err)
	require.Less(t, len(err.Error()), 1<<20)
	require.Less(t, len(brief(err)), 4096)
	require.Contains(t, brief(err), "; and ")
}
