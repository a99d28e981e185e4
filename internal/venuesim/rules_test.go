package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// one returns a venue with one class "m" under these rules.
func one(t *testing.T, rules ...*Rule) *Venue {
	t.Helper()
	v, err := New(Class{Name: "m", Rules: rules})
	require.NoError(t, err)
	return v
}

func TestRulesAtTheNanosecond(t *testing.T) {
	type message struct {
		at, n int64
		ok    bool
		used  int64
		retry int64 // of a refused one
	}
	for _, c := range []struct {
		name  string
		limit Limit
		flow  []message
	}{
		{"aligned", Limit{Kind: Aligned, Tokens: 3, Per: 10}, []message{
			{7, 2, true, 2, 0}, {9, 1, true, 3, 0}, {9, 1, false, 3, 10},
			{10, 3, true, 3, 0}, {19, 1, false, 3, 20}, {20, 1, true, 1, 0}, {20, 3, false, 1, 30}, {25, 4, false, 1, Never},
		}},
		{"aligned before zero", Limit{Kind: Aligned, Tokens: 1, Per: 10}, []message{
			{-11, 1, true, 1, 0}, {-10, 1, true, 1, 0}, {-1, 1, false, 1, 0}, {0, 1, true, 1, 0},
		}},
		{"aligned with a phase", Limit{Kind: Aligned, Tokens: 1, Per: 10, Phase: 3}, []message{
			{0, 1, true, 1, 0}, {2, 1, false, 1, 3}, {3, 1, true, 1, 0}, {12, 1, false, 1, 13}, {13, 1, true, 1, 0},
		}},
		{"from first", Limit{Kind: FromFirst, Tokens: 3, Per: 10}, []message{
			{7, 1, true, 1, 0}, {16, 2, true, 3, 0}, {16, 1, false, 3, 17}, {17, 3, true, 3, 0},
			{26, 1, false, 3, 27}, {40, 1, true, 1, 0}, {49, 3, false, 1, 50}, {50, 3, true, 3, 0}, {50, 4, false, 3, Never},
		}},
		{"rolling", Limit{Kind: Rolling, Tokens: 3, Per: 10}, []message{
			{0, 1, true, 1, 0}, {4, 2, true, 3, 0}, {9, 1, false, 3, 10}, {9, 2, false, 3, 14},
			{10, 1, true, 3, 0}, {13, 1, false, 3, 14}, {14, 2, true, 3, 0}, {14, 3, false, 3, 24}, {14, 4, false, 3, Never},
		}},
		{"token bucket", Limit{Kind: TokenBucket, Tokens: 3, Per: 10, Burst: 4}, []message{
			{5, 4, true, 4, 0}, {8, 1, false, 4, 9}, // 9/10 of a token is there at 8
			{9, 1, true, 4, 0}, {15, 2, true, 4, 0}, {15, 1, false, 4, 19}, {100, 4, true, 4, 0}, {100, 5, false, 4, Never},
		}},
		{"decaying", Limit{Kind: Decaying, Tokens: 3, Per: 10, Burst: 4}, []message{
			{5, 4, true, 4, 0}, {8, 1, false, 4, 9},
			{9, 1, true, 4, 0}, {15, 2, true, 4, 0}, {15, 1, false, 4, 19}, {100, 4, true, 4, 0}, {100, 5, false, 4, Never},
		}},
		{"bucket of the tokens", Limit{Kind: TokenBucket, Tokens: 2, Per: 10}, []message{
			{0, 2, true, 2, 0}, {4, 1, false, 2, 5}, {5, 1, true, 2, 0},
		}},
		{"unlimited", Limit{Kind: Unlimited}, []message{{0, Never, true, 0, 0}, {0, Never, true, 0, 0}}},
		{"deny", Limit{Kind: Deny}, []message{{0, 1, false, 0, Never}, {1, 0, false, 0, Never}}},
		{"nothing costs nothing", Limit{Kind: Aligned, Tokens: 1, Per: 10}, []message{
			{0, 1, true, 1, 0}, {1, 0, true, 1, 0}, {2, 1, false, 1, 10},
		}},
		{"a window is not opened by nothing", Limit{Kind: FromFirst, Tokens: 1, Per: 10}, []message{
			{0, 0, true, 0, 0}, {5, 1, true, 1, 0}, {14, 1, false, 1, 15},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := one(t, &Rule{Name: "r", Limit: c.limit})
			refused := int64(0)
			for i, m := range c.flow {
				r := v.Receive(m.at, "m", m.n)
				require.Equal(t, m.ok, r.Accepted(), "message %d: %+v", i, r)
				require.Equal(t, m.at, r.At)
				require.Equal(t, []Usage{{"r", m.used, c.limit.Capacity()}}, r.Used, "message %d", i)
				if m.ok {
					require.Equal(t, Reply{Status: Accepted, At: m.at, RetryAt: m.at, Used: r.Used}, r)
					continue
				}
				refused++
				require.Equal(t, Refused, r.Status)
				require.Equal(t, "r", r.Rule)
				require.Equal(t, m.retry, r.RetryAt, "message %d", i)
			}
			count := int64(0)
			for _, b := range v.Breaches() {
				count += b.Count
			}
			require.Equal(t, refused, count)
		})
	}
}

func TestSeveralRulesAllOrNothing(t *testing.T) {
	v := one(t,
		&Rule{Name: "weight", Limit: Limit{Kind: Aligned, Tokens: 10, Per: 100}},
		&Rule{Name: "orders", Limit: Limit{Kind: Rolling, Tokens: 2, Per: 30}})
	require.Equal(t, []Usage{{"weight", 4, 10}, {"orders", 1, 2}}, v.Receive(0, "m", 4, 1).Used)
	require.Equal(t, []Usage{{"weight", 8, 10}, {"orders", 2, 2}}, v.Receive(1, "m", 4, 1).Used)

	r := v.Receive(2, "m", 1, 1)
	require.Equal(t, "orders", r.Rule)
	require.Equal(t, int64(30), r.RetryAt)
	require.Equal(t, []Usage{{"weight", 8, 10}, {"orders", 2, 2}}, r.Used, "a refusal counts nowhere")

	r = v.Receive(3, "m", 3, 2)
	require.Equal(t, "weight", r.Rule, "the first in order")
	require.Equal(t, int64(100), r.RetryAt, "when the last of them has room")
	require.Equal(t, []Breach{{"m", "orders", 2, 2, 3}, {"m", "weight", 1, 3, 3}}, v.Breaches())

	require.True(t, v.Receive(4, "m", 2, 0).Accepted(), "free under the rule that is full")
}

func TestCostsOfAMessage(t *testing.T) {
	a, b := &Rule{Name: "a", Limit: Limit{Kind: Aligned, Tokens: 9, Per: 100}}, &Rule{Name: "b", Limit: Limit{Kind: Aligned, Tokens: 9, Per: 100}}
	v := one(t, a, b)
	require.Equal(t, []Usage{{"a", 1, 9}, {"b", 1, 9}}, v.Receive(0, "m").Used)
	require.Equal(t, []Usage{{"a", 3, 9}, {"b", 3, 9}}, v.Receive(0, "m", 2).Used)
	require.Equal(t, []Usage{{"a", 4, 9}, {"b", 6, 9}}, v.Receive(0, "m", 1, 3).Used)
	require.PanicsWithValue(t, `venuesim: class "m": 3 costs for 2 rules; give none, one, or one for each rule`,
		func() { v.Receive(0, "m", 1, 1, 1) })
	require.Panics(t, func() { v.Receive(0, "m", -1) })
	require.Equal(t, []Rule{*a, *b}, v.Rules("m"))
}

func TestARuleSharedByClassesIsOneCount(t *testing.T) {
	limit := Limit{Kind: Aligned, Tokens: 3, Per: 100}
	firm := &Rule{Name: "firm", Limit: limit}
	v, err := New(
		Class{"order.new", []*Rule{{Name: "own", Limit: limit}, firm}},
		Class{"order.replace", []*Rule{{Name: "own", Limit: limit}, firm}})
	require.NoError(t, err)
	v.Receive(0, "order.new", 2)
	require.Equal(t, []Usage{{"own", 1, 3}, {"firm", 3, 3}}, v.Receive(1, "order.replace").Used)
	require.Equal(t, "firm", v.Receive(2, "order.new").Rule)
	require.Len(t, v.Volume(), 3)
}

func TestUnlistedClass(t *testing.T) {
	rule := Rule{Name: "r", Limit: Limit{Kind: Aligned, Tokens: 1, Per: 100}}
	v, err := New(Class{"default", []*Rule{&rule}})
	require.NoError(t, err)
	require.True(t, v.Receive(0, "a").Accepted())
	require.True(t, v.Receive(0, "b").Accepted(), "each counts by itself")
	require.False(t, v.Receive(0, "a").Accepted())

	r := one(t, &rule).Receive(0, "cancel", 1, 2, 3)
	require.Equal(t, Refused, r.Status)
	require.Equal(t, "unknown class", r.Rule)
}

func TestTimeNeverGoesBack(t *testing.T) {
	v := one(t, &Rule{Name: "r", Limit: Limit{Kind: Aligned, Tokens: 1, Per: 10}})
	v.Receive(10, "m")
	r := v.Receive(9, "m")
	require.Equal(t, Refused, r.Status)
	require.Equal(t, int64(10), r.At)
	require.Equal(t, int64(10), v.Now())
}

func TestCredit(t *testing.T) {
	for _, k := range []Kind{TokenBucket, Decaying, Aligned, FromFirst, Rolling} {
		t.Run(k.String(), func(t *testing.T) {
			v := one(t, &Rule{Name: "r", Limit: Limit{Kind: k, Tokens: 5, Per: 1000}})
			v.Receive(0, "m", 2)
			v.Receive(0, "m", 3)
			require.Equal(t, int64(4), v.Credit(0, "m", "r", 4))
			require.Equal(t, int64(2), v.Receive(0, "m").Used[0].Used)
			require.Equal(t, int64(2), v.Credit(0, "m", "r", 9), "not below zero used")
			require.Zero(t, v.Credit(0, "m", "r", 1))
			require.True(t, v.Receive(0, "m", 5).Accepted())
			require.False(t, v.Receive(0, "m").Accepted())
			require.Equal(t, []Volume{{"m", "r", 11, 5 + 6}}, v.Volume())
		})
	}
	v := one(t, &Rule{Name: "r", Limit: Limit{Kind: Aligned, Tokens: 5, Per: 1000}})
	require.Panics(t, func() { v.Credit(0, "m", "s", 1) })
	require.Panics(t, func() { v.Credit(0, "m", "r", -1) })
}

// A bucket that a message found a fraction short of full is not overfilled.
func TestCreditOfAFraction(t *testing.T) {
	for _, k := range []Kind{TokenBucket, Decaying} {
		v := one(t, &Rule{Name: "r", Limit: Limit{Kind: k, Tokens: 1, Per: 10, Burst: 2}})
		v.Receive(0, "m")
		require.Equal(t, int64(1), v.Credit(5, "m", "r", 2))
		require.True(t, v.Receive(5, "m", 2).Accepted())
		require.False(t, v.Receive(14, "m").Accepted())
		require.True(t, v.Receive(15, "m").Accepted())
	}
}

func TestNewTellsAllFaults(t *testing.T) {
	good := Limit{Kind: Aligned, Tokens: 1, Per: time.Second}
	_, err := New(
		Class{"", []*Rule{{Name: "r", Limit: good}}},
		Class{"a", nil},
		Class{"a", []*Rule{nil, {Limit: good}, {Name: "x", Limit: Limit{Kind: 9}}}},
		Class{"b", []*Rule{
			{Name: "w", Limit: Limit{Kind: Rolling, Burst: 1, Phase: 1}},
			{Name: "w", Limit: Limit{Kind: Aligned, Tokens: 1, Per: 5, Phase: 5}},
			{Name: "d", Limit: Limit{Kind: Deny, Tokens: 1}},
			{Name: "l", Limit: good, Ladder: Ladder{Ban: 2, Longest: 1}},
			{Name: "h", Limit: good, Ladder: Ladder{Hard: Limit{Kind: TokenBucket, Tokens: 1}, Strikes: -1, Ban: -1}},
			{Name: "u", Limit: good, Ladder: Ladder{Hard: Limit{Kind: Unlimited}}},
		}})
	require.Error(t, err)
	for _, want := range []string{
		`classes[0] "": the name must not be empty`,
		`classes[1] "a": no rules`,
		`classes[2] "a": listed twice`,
		"rules[0] is nil",
		`rules[1] "": the name must not be empty`,
		`rules[2] "x": kind(9) is no kind`,
		`rules[0] "w": tokens 0 must be above zero`,
		`rules[0] "w": per 0s must be above zero`,
		`rules[0] "w": burst 1 must be left out of rolling`,
		`rules[0] "w": phase 1ns must be left out of rolling`,
		`rules[1] "w": phase 5ns must be from zero to below per`,
		`rules[1] "w": same name`,
		`rules[2] "d": deny takes no numbers`,
		`rules[3] "l": ladder: longest 1ns must be at least ban`,
		`rules[3] "l": ladder: nothing leads to the ban`,
		`rules[4] "h": ladder: hard: per 0s`,
		`rules[4] "h": ladder: strikes -1`,
		`rules[4] "h": ladder: ban -1ns`,
		`rules[5] "u": ladder: hard must count`,
	} {
		require.ErrorContains(t, err, want)
	}
}
