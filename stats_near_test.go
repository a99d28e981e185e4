package tickgate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Near counts the admissions that leave less than a fifth, of every call that looks.
func TestStatsNear(t *testing.T) {
	for _, c := range []struct {
		limit string
		near  uint64 // of all that pass
	}{{"10/h", 2}, {"10/h rolling", 2}, {"11/h", 3}, {"5/h", 1}, {"1/h", 1}, {"4/h", 1}, {"100/h", 20}} {
		l, err := policy.ParseLimit(c.limit)
		require.NoError(t, err)
		g, err := tickgate.New(tickgate.Config{Policies: policy.Set{{Endpoint: "e", Limits: []policy.Limit{l}}}, Clock: clock.NewManual(0)})
		require.NoError(t, err)
		near := func() uint64 { return g.Stats().Policies[0].Near }
		h, err := g.Handle("handle", "e")
		require.NoError(t, err)
		member, err := g.Handle("member", "e")
		require.NoError(t, err)
		group, err := tickgate.Join(member)
		require.NoError(t, err)
		for i, take := range []func() bool{
			func() bool { return g.Take("k", "e", 1).Allowed },
			func() bool { return h.Take(1).Allowed },
			func() bool { return group.TakeAt(clock.Time(time.Nanosecond), 1).Allowed },
		} {
			for take() {
			}
			require.Equal(t, uint64(i+1)*c.near, near(), "%s, way %d", c.limit, i)
			require.Zero(t, g.Take("k", "e", 0).RetryAfter)
		}
		require.True(t, g.AllowN("bool", "e", l.Tokens), "only told whether it passes")
		require.Equal(t, 3*c.near, near())
	}
}
