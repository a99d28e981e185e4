package tickgate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// shown is what a decision tells its reader.
type shown struct {
	allowed      bool
	reason       tickgate.Reason
	limit        string
	remaining    int64
	retry, reset time.Duration
}

func show(d tickgate.Decision) shown {
	return shown{d.Allowed, d.Reason, d.Limit, d.Remaining, d.RetryAfter, d.ResetAfter}
}

func TestDecisionExplains(t *testing.T) {
	const never = tickgate.Never
	g, c := gateOf(t, tickgate.Config{}, "10/s burst=20 name=rate", "100/m name=minute")
	for _, step := range []struct {
		after time.Duration
		n     int64
		want  shown
	}{
		{0, 0, shown{true, tickgate.OK, "rate", 20, 0, 0}},
		{0, 5, shown{true, tickgate.OK, "rate", 15, 0, 500 * time.Millisecond}},
		{0, 0, shown{true, tickgate.OK, "rate", 15, 0, 500 * time.Millisecond}},
		{0, 15, shown{true, tickgate.OK, "rate", 0, 0, 2 * time.Second}},
		{0, 3, shown{false, tickgate.Limited, "rate", 0, 300 * time.Millisecond, 2 * time.Second}},
		{250 * time.Millisecond, 3, shown{false, tickgate.Limited, "rate", 2, 50 * time.Millisecond, 1750 * time.Millisecond}},
		{50 * time.Millisecond, 3, shown{true, tickgate.OK, "rate", 0, 0, 2 * time.Second}},
		{0, 21, shown{false, tickgate.TooCostly, "rate", 0, never, 2 * time.Second}},
		{0, 101, shown{false, tickgate.TooCostly, "rate", 0, never, 2 * time.Second}},
		{0, -1, shown{false, tickgate.BadRequest, "", 0, never, 0}},
	} {
		c.Advance(step.after)
		require.Equal(t, step.want, show(g.Take("k", endpoint, step.n)), "n=%d", step.n)
	}
}

// Of several limits the one that denies longest is named; when allowed, the one
// with the fewest tokens left.
func TestDecisionNamesTheLimitThatDecides(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h burst=3 name=hour", "2/s name=second")
	require.Equal(t, "second", g.Take("k", endpoint, 1).Limit)
	require.Equal(t, "second", g.Take("k", endpoint, 1).Limit)
	d := g.Take("k", endpoint, 1)
	require.Equal(t, "second", d.Limit)
	require.Equal(t, 500*time.Millisecond, d.RetryAfter)
	c.Advance(time.Second)
	require.Equal(t, "hour", g.Take("k", endpoint, 1).Limit)
	d = g.Take("k", endpoint, 2)
	require.Equal(t, "hour", d.Limit, "both deny, the hour for longer")
	require.Greater(t, d.RetryAfter, time.Minute)
}

func TestDecisionUnnamedLimitGoesByItsForm(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "100/s burst=20")
	require.Equal(t, "100/s burst=20", g.Take("k", endpoint, 1).Limit)
}

func TestDecisionUnlimited(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "unlimited")
	for _, n := range []int64{0, 1, math.MaxInt64} {
		require.Equal(t, shown{true, tickgate.OK, "", math.MaxInt64, 0, 0}, show(g.Take("k", endpoint, n)))
	}
	require.Zero(t, g.Stats().Size, "takes no room")
	require.Equal(t, tickgate.BadRequest, g.Take("k", endpoint, -1).Reason)
}

func TestDecisionDeny(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "deny name=closed")
	require.Equal(t, shown{false, tickgate.TooCostly, "closed", 0, tickgate.Never, 0}, show(g.Take("k", endpoint, 1)))
	require.False(t, g.Allow("k", endpoint))
	require.Zero(t, g.Stats().Size)
}

// A look changes nothing: no token, no count, no key.
func TestDecisionPeek(t *testing.T) {
	g, _ := gateOf(t, tickgate.Config{}, "10/h")
	for range 100 {
		require.Equal(t, int64(10), g.Take("k", endpoint, 0).Remaining)
	}
	s := g.Stats()
	require.Zero(t, s.Size)
	require.Zero(t, s.Hits+s.Misses)
	require.True(t, g.Allow("k", endpoint))
	for range 100 {
		require.Equal(t, int64(9), g.Take("k", endpoint, 0).Remaining)
	}
	require.Equal(t, uint64(1), g.Stats().Policies[0].Allowed)
	require.True(t, g.AllowN("k", endpoint, 0))
	require.False(t, g.AllowN("", endpoint, 0))
}

func TestDecisionBadNames(t *testing.T) {
	g, _ := gateWith(t, tickgate.Config{}, policy.Set{policyOf(t, endpoint, "1/h"), policyOf(t, policy.DefaultEndpoint, "1/h")})
	long := strings.Repeat("x", 257)
	n := uint64(0)
	for _, p := range []pair{{"", endpoint}, {long, endpoint}, {"k", ""}, {"k", long}, {"", ""}, {long, long}, {"", "unlisted"}, {long, "unlisted"}} {
		d := g.Take(p.apikey, p.endpoint, 1)
		require.Equal(t, shown{false, tickgate.BadRequest, "", 0, tickgate.Never, 0}, show(d))
		require.False(t, g.Allow(p.apikey, p.endpoint))
		require.False(t, g.Endpoint(p.endpoint).Allow(p.apikey))
		require.Equal(t, tickgate.BadRequest, g.Endpoint(p.endpoint).Take(p.apikey, 1).Reason)
		_, err := g.Handle(p.apikey, p.endpoint)
		require.ErrorIs(t, err, tickgate.ErrKey)
		n += 4
		require.Equal(t, n, g.Stats().BadRequests)
	}
	most := strings.Repeat("x", 256)
	require.True(t, g.Allow(most, endpoint))
	require.True(t, g.Allow(most, most))
	require.Zero(t, g.Stats().Policies[0].Denied)
}

func TestReasonString(t *testing.T) {
	for r, want := range []string{"ok", "limited", "too costly", "full", "blocked", "banned", "no policy", "bad request", "unsettled", "Reason(9)"} {
		require.Equal(t, want, fmt.Sprint(tickgate.Reason(r)))
	}
}
