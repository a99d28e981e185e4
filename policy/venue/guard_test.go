package venue

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func TestGuard(t *testing.T) {
	for _, c := range []struct {
		limit  string
		jitter time.Duration
		want   string
	}{
		{"300/10s aligned", 50 * time.Millisecond, "300/10s aligned skew=50ms"},
		{"1500/3s from-first", 50 * time.Millisecond, "1500/3s from-first skew=50ms"},
		{"7500/5s rolling", 50 * time.Millisecond, "7500/5s rolling skew=50ms"},
		// The longest skew that is valid where the jitter is longer.
		{"2/s aligned", time.Second, "2/s aligned skew=499999999ns"},
		{"2/s from-first", 500 * time.Millisecond, "2/s from-first skew=499999999ns"},
		{"6/6d rolling", time.Second, "6/6d rolling"},
		// A longer skew stays.
		{"2/s aligned skew=80ms", 50 * time.Millisecond, "2/s aligned skew=80ms"},
		{"2/s rolling skew=80ms", 50 * time.Millisecond, "2/s rolling skew=80ms"},
		// What comes back within the jitter, rounded up.
		{"15/s burst=30", 50 * time.Millisecond, "15/s burst=29"},
		{"15/s burst=30", 67 * time.Millisecond, "15/s burst=28"},
		{"15/s", 200 * time.Millisecond, "15/s burst=12"},
		{"10000/s burst=50000", 100 * time.Millisecond, "10000/s burst=49000"},
		{"15/s burst=30", time.Hour, "15/s burst=1"},
		{"15/s burst=30 reserve=4", time.Hour, "15/s burst=5 reserve=4"},
		{"2e9/s", policy.MaxPer, "2000000000/s burst=1"},
		{"unlimited", time.Second, "unlimited"},
		{"deny", time.Second, "deny"},
		{"15/s burst=30", 0, "15/s burst=30"},
		{"2/s aligned", -time.Second, "2/s aligned"},
	} {
		l, err := policy.ParseLimit(c.limit)
		require.NoError(t, err, c.limit)
		set := policy.Set{{Endpoint: "a", Limits: []policy.Limit{l}}}
		got := Guard(set, c.jitter)
		require.Equal(t, c.want, got[0].Limits[0].String(), "%s by %v", c.limit, c.jitter)
		require.NoError(t, got.Validate())
		require.Equal(t, l, set[0].Limits[0], "the argument has changed")
	}
	require.Nil(t, Guard(nil, time.Second))
	bad := policy.Set{{Endpoint: "a", Limits: []policy.Limit{{Tokens: -5, Per: -1, Burst: math.MinInt64}}}}
	require.Equal(t, bad, Guard(bad, time.Second))
}

func TestGuardedPresetsAreValid(t *testing.T) {
	for _, p := range All() {
		for _, jitter := range []time.Duration{1, time.Millisecond, time.Second, time.Hour, math.MaxInt64} {
			require.NoError(t, Guard(p.Policies, jitter).Validate(), p.Name)
		}
		// At a usual jitter every class can still pass.
		p.Policies = Guard(p.Policies, 100*time.Millisecond)
		checkMessages(t, p)
	}
}

// The guarded burst is the highest that keeps within the venue's limit, in exact
// arithmetic: burst + rate·jitter <= capacity.
func TestGuardedBurstIsExact(t *testing.T) {
	for _, tokens := range []int64{1, 3, 7, 1000, 1 << 40} {
		for _, per := range []int64{int64(time.Second), int64(time.Minute), int64(time.Hour) + 7} {
			for _, jitter := range []int64{1, 999, int64(time.Millisecond), int64(time.Second) / 3} {
				l := policy.Limit{Tokens: tokens, Per: time.Duration(per), Burst: tokens * 3}
				if l.Validate() != nil {
					continue
				}
				got := guarded(l, time.Duration(jitter))
				within := func(burst int64) bool {
					lost := new(big.Rat).Mul(big.NewRat(tokens, per), big.NewRat(jitter, 1))
					return lost.Add(lost, new(big.Rat).SetInt64(burst)).Cmp(new(big.Rat).SetInt64(l.Burst)) <= 0
				}
				require.True(t, within(got.Burst), "%v by %d", l, jitter)
				require.False(t, within(got.Burst+1), "%v by %d", l, jitter)
			}
		}
	}
}
