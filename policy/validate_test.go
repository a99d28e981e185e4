package policy

import (
	"math"
	"math/big"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sound judges the numbers of a limit with math/big, apart from the code.
func sound(l Limit) bool {
	if l.Window == Unlimited || l.Window == Deny {
		return l.Tokens == 0 && l.Per == 0 && l.Burst == 0 && l.Reserve == 0 && l.Skew == 0
	}
	if l.Window > Deny || l.Tokens <= 0 || l.Per <= 0 || l.Per > MaxPer || l.Burst < 0 {
		return false
	}
	if l.Window != TokenBucket && l.Burst != 0 && l.Burst != l.Tokens {
		return false
	}
	if l.Window != TokenBucket && l.Tokens > 1<<30 {
		return false
	}
	if l.Reserve < 0 || l.Reserve >= l.Capacity() || l.Skew < 0 {
		return false
	}
	skew, per := big.NewInt(int64(l.Skew)), big.NewInt(int64(l.Per))
	switch l.Window {
	case TokenBucket:
		if l.Skew != 0 {
			return false
		}
	case Rolling:
		if per.Add(per, skew).Cmp(big.NewInt(int64(MaxRolling))) > 0 {
			return false
		}
	default:
		if skew.Add(skew, skew).Cmp(per) >= 0 {
			return false
		}
	}
	rate := big.NewRat(l.Tokens, int64(l.Per)) // tokens a nanosecond
	capacity := new(big.Rat).SetInt64(l.Capacity())
	fill := capacity.Quo(capacity, rate)
	return rate.Cmp(big.NewRat(2, 1)) <= 0 && rate.Cmp(big.NewRat(1, int64(Day))) >= 0 &&
		fill.Cmp(new(big.Rat).SetInt64(int64(MaxPer))) <= 0
}

// Validation agrees with exact arithmetic on numbers chosen near every edge.
func TestLimitValidationIsExact(t *testing.T) {
	edges := []int64{
		math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 2, 3, 364, 365, 366, 1e3, 1e9, 2e9, 2e9 + 1, int64(Day) - 1, int64(Day),
		int64(Day) + 1, int64(MaxPer) - 1, int64(MaxPer), int64(MaxPer) + 1, 2 * int64(MaxPer), 2*int64(MaxPer) + 1,
		1 << 31, 1 << 32, 1 << 53, 1 << 62, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64,
	}
	good := 0
	check := func(l Limit) {
		err := l.Validate()
		require.Equal(t, sound(l), err == nil, "%+v: %v", l, err)
		if err == nil {
			good++
			again, err := ParseLimit(l.String())
			require.NoError(t, err)
			require.Equal(t, l, again)
		}
	}
	for _, tokens := range edges {
		for _, per := range edges {
			for _, burst := range edges {
				check(Limit{Tokens: tokens, Per: time.Duration(per), Burst: burst})
			}
		}
	}
	rng := rand.New(rand.NewSource(1))
	for range 20_000 {
		n := func() int64 { return int64(rng.Uint64() >> 1 >> rng.Intn(63)) }
		check(Limit{Tokens: n(), Per: time.Duration(n()), Burst: n(), Window: Window(rng.Intn(8))})
	}
	require.Greater(t, good, 1000)

	// Windows around the edges of their tokens, reserve and skew.
	good = 0
	for w := TokenBucket; w <= Deny+1; w++ {
		for _, tokens := range []int64{0, 1, 2, 7, 1<<30 - 1, 1 << 30, 1<<30 + 1} {
			for _, per := range []int64{0, 1, 2, 3, 4, 1e9, 1e9 + 1, int64(Day), int64(MaxPer) - 1, int64(MaxPer)} {
				for _, reserve := range []int64{math.MinInt64, -1, 0, 1, 2, 6, 7, 1<<30 - 1, 1 << 30, math.MaxInt64} {
					for _, skew := range []int64{
						math.MinInt64, -1, 0, 1, 2, per/2 - 1, per / 2, per/2 + 1,
						int64(MaxPer) - per, int64(MaxPer) - per + 1, math.MaxInt64,
					} {
						check(Limit{Tokens: tokens, Per: time.Duration(per), Window: w, Reserve: reserve, Skew: time.Duration(skew)})
					}
				}
			}
		}
	}
	require.Greater(t, good, 1000)
}

// messages returns every fault of a joined error as its line.
func messages(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	s := Set{
		{},
		{Endpoint: strings.Repeat("x", 257), Limits: []Limit{{Tokens: 1, Per: time.Second}}},
		{Endpoint: "order.new", Credit: -1, Limits: []Limit{
			{Tokens: 0, Per: -time.Second, Burst: -5},
			{Tokens: math.MaxInt64, Per: 1},
			{Tokens: 1, Per: Day, Burst: 1000},
			{Tokens: 1, Per: 366 * Day},
			{Tokens: 10, Per: time.Second, Window: 9},
			{Tokens: 10, Per: time.Second, Window: Rolling, Burst: 3},
			{Name: "a\nb", Tokens: 10, Per: time.Second},
			{Tokens: 1<<30 + 1, Per: time.Minute, Window: Aligned, Reserve: 1 << 31, Skew: time.Minute},
		}},
		{Endpoint: "order.new", Limits: []Limit{
			{Tokens: 10, Per: time.Second}, {Tokens: 10, Per: time.Second},
			{Name: "10/s", Tokens: 11, Per: time.Second}, {Window: Unlimited},
		}},
		{Endpoint: "bad\x7f", Limits: []Limit{{Window: Deny, Tokens: 1, Per: 1, Burst: 1, Reserve: 1, Skew: 1}}},
		{Endpoint: "\xff", Limits: make([]Limit, 9)},
	}
	for i := range s[5].Limits {
		s[5].Limits[i] = Limit{Tokens: int64(i + 1), Per: time.Second}
	}
	err := s.Validate()
	require.Equal(t, []string{
		`policies[0].endpoint = "": must not be empty`,
		`policies[0].limits = "": must not be empty; write "unlimited" or "deny" if that is meant`,
		`policies[1].endpoint = "` + strings.Repeat("x", 80) + `"...: must be at most 256 bytes, has 257`,
		`policies[2](order.new).limits[0].tokens = 0: must be above zero`,
		`policies[2](order.new).limits[0].per = -1s: must be above zero`,
		`policies[2](order.new).limits[0].burst = -5: must not be negative; zero means the tokens`,
		`policies[2](order.new).limits[1].tokens = 9223372036854775807/ns: must be at most 2e9 a second`,
		`policies[2](order.new).limits[2].burst = 1000: must refill within 365d`,
		`policies[2](order.new).limits[3].per = 366d: must be at most 365d`,
		`policies[2](order.new).limits[3].tokens = 1/366d: must be at least one a day`,
		`policies[2](order.new).limits[4].window = "window(9)": not a window; ` + windowForms,
		`policies[2](order.new).limits[5].burst = 3: must be left out: only a token bucket has a burst, the capacity of a window is its tokens`,
		`policies[2](order.new).limits[6].name = "a\nb": must be printable ASCII without quotes and backslashes`,
		`policies[2](order.new).limits[7].tokens = 1073741825: must be at most 1073741824 in a window; only a token bucket holds more`,
		`policies[2](order.new).limits[7].reserve = 2147483648: must be below the capacity of 1073741825, so that ordinary calls can pass`,
		`policies[2](order.new).limits[7].skew = 1m: must be less than half the period of 1m`,
		`policies[2](order.new).credit = -1: must not be negative`,
		`policies[3](order.new).endpoint = "order.new": listed twice, first in policies[2]; keep one`,
		`policies[3](order.new).limits[1].name = 10/s: same name as limits[0]; give one of them another name`,
		`policies[3](order.new).limits[2].name = 10/s: same name as limits[0]; give one of them another name`,
		`policies[3](order.new).limits[3].window = "unlimited": must be the only limit of its policy`,
		`policies[4].endpoint = "bad\x7f": must not contain control characters`,
		`policies[4].limits[0].tokens = 1: must be left out of deny`,
		`policies[4].limits[0].per = "ns": must be left out of deny`,
		`policies[4].limits[0].burst = 1: must be left out of deny`,
		`policies[4].limits[0].reserve = 1: must be left out of deny`,
		`policies[4].limits[0].skew = 1ns: must be left out of deny`,
		`policies[5].endpoint = "\xff": must be UTF-8`,
		`policies[5].limits = 9: must be at most 8 limits`,
	}, messages(err))

	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	for _, e := range joined.Unwrap() {
		require.IsType(t, (*ConfigError)(nil), e)
	}
}

func TestValidateOnePolicyAndOneLimit(t *testing.T) {
	require.NoError(t, Policy{Endpoint: "a", Limits: []Limit{{Window: Deny}}}.Validate())
	require.EqualError(t, Policy{Endpoint: "a", Limits: []Limit{{Window: Deny}}, Credit: -2}.Validate(),
		"policy(a).credit = -2: must not be negative")
	require.EqualError(t, Policy{Endpoint: "a", Limits: []Limit{{Tokens: 1}}}.Validate(),
		"policy(a).limits[0].per = 0s: must be above zero")
	require.EqualError(t, Limit{Per: time.Second}.Validate(), "limit.tokens = 0: must be above zero")
}

// Limits are map keys and compared with == elsewhere, all fields included.
func TestLimitsAreComparable(t *testing.T) {
	a := Limit{Tokens: 5, Per: time.Second, Window: Aligned, Reserve: 1, Skew: 1}
	b, c := a, a
	b.Reserve, c.Skew = 2, 2
	require.Len(t, map[Limit]bool{a: true, b: true, c: true}, 3)
	require.False(t, Policy{Limits: []Limit{a}}.Equal(Policy{Limits: []Limit{b}}))
	require.False(t, Policy{Limits: []Limit{a}}.Equal(Policy{Limits: []Limit{c}}))
}

func TestValidateBoundsItsReport(t *testing.T) {
	lines := messages(make(Set, 5000).Validate())
	require.Len(t, lines, 1001)
	require.Equal(t, errMore.Error(), lines[1000])
}

func TestAnEmptySetIsValid(t *testing.T) {
	require.NoError(t, Set(nil).Validate())
	require.NoError(t, Set{}.Validate())
}
