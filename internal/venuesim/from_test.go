package venuesim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/policy"
)

func TestFromPolicySet(t *testing.T) {
	set := policy.Set{
		{Endpoint: "order.new", Shadow: true, Credit: 3, Limits: []policy.Limit{
			{Name: "weight", Tokens: 6000, Per: time.Minute, Window: policy.Aligned},
			{Tokens: 10, Per: time.Second, Window: policy.Rolling, Burst: 10},
			{Name: "cme", Tokens: 500, Per: 3 * time.Second, Window: policy.FromFirst},
			{Name: "bucket", Tokens: 15, Per: time.Second, Burst: 30},
		}},
		{Endpoint: "order.cancel", Limits: []policy.Limit{{Window: policy.Unlimited}}},
		{Endpoint: "admin", Limits: []policy.Limit{{Window: policy.Deny}}},
	}
	v := From(set)
	require.Equal(t, []Rule{
		{Name: "weight", Limit: Limit{Kind: Aligned, Tokens: 6000, Per: time.Minute}},
		{Name: set[0].Limits[1].Label(), Limit: Limit{Kind: Rolling, Tokens: 10, Per: time.Second}},
		{Name: "cme", Limit: Limit{Kind: FromFirst, Tokens: 500, Per: 3 * time.Second}},
		{Name: "bucket", Limit: Limit{Kind: TokenBucket, Tokens: 15, Per: time.Second, Burst: 30}},
	}, v.Rules("order.new"))
	require.True(t, v.Receive(0, "order.cancel", 1e9).Accepted())
	require.Equal(t, "deny", v.Receive(0, "admin").Rule)
	require.Equal(t, "unknown class", v.Receive(0, "other").Rule)

	v = From(set.With(policy.Policy{Endpoint: "default", Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}}))
	require.True(t, v.Receive(0, "other").Accepted())
	require.Equal(t, "1/s", v.Receive(0, "other").Rule)
	require.True(t, v.Receive(0, "third").Accepted())
}

func TestFromKnowsEveryWindow(t *testing.T) {
	for w := policy.TokenBucket; ; w++ {
		if _, err := policy.ParseWindow(w.String()); err != nil {
			require.Panics(t, func() { kindOf(w) })
			break
		}
		require.Equal(t, w.String(), kindOf(w).String())
	}
	require.Panics(t, func() { From(policy.Set{{Endpoint: "a"}}) })
}
