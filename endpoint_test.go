package tickgate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

func TestEndpointZero(t *testing.T) {
	var e tickgate.Endpoint
	require.False(t, e.Allow("k"))
	require.False(t, e.AllowN("k", 0))
	require.Equal(t, tickgate.BadRequest, e.Take("k", 1).Reason)
	require.Equal(t, tickgate.BadRequest, e.TakeAt(0, "k", 1).Reason)
}

// The same bucket by the endpoint and by its name, listed or not.
func TestEndpointSharesKeys(t *testing.T) {
	g, c := gateWith(t, tickgate.Config{}, policy.Set{policyOf(t, endpoint, "10/h"), policyOf(t, policy.DefaultEndpoint, "10/h")})
	for _, name := range []string{endpoint, policy.DefaultEndpoint, "unlisted"} {
		e := g.Endpoint(name)
		require.True(t, e.Allow("k"))
		require.True(t, e.AllowN("k", 2))
		require.True(t, g.Allow("k", name))
		require.Equal(t, int64(5), e.Take("k", 1).Remaining)
		require.Equal(t, int64(4), e.TakeAt(c.Now(), "k", 1).Remaining)
		require.Equal(t, int64(4), g.Take("k", name, 0).Remaining)
		require.False(t, e.AllowN("k", 5))
		require.False(t, e.AllowN("k", -1))
		require.True(t, e.AllowN("k", 0))
		require.Equal(t, 4, drain(func() bool { return e.Allow("k") }))
	}
}

// An endpoint that was resolved before a change decides by the policies after it.
func TestEndpointFollowsApply(t *testing.T) {
	g, c := gateOf(t, tickgate.Config{}, "10/h")
	listed, unlisted := g.Endpoint(endpoint), g.Endpoint("unlisted")
	require.True(t, listed.AllowN("k", 4))
	require.Equal(t, tickgate.NoPolicy, unlisted.Take("k", 1).Reason)
	require.False(t, unlisted.Allow("k"))

	// Other limits.
	require.NoError(t, g.Apply(setOf(t, "10/h burst=5")))
	require.Equal(t, left(g, "k"), listed.Take("k", 0).Remaining)
	// Gone, and default answers.
	other := policyOf(t, policy.DefaultEndpoint, "3/h")
	require.NoError(t, g.Apply(policy.Set{other}))
	require.Equal(t, 3, drain(func() bool { return listed.Allow("k") }))
	require.Equal(t, 3, drain(func() bool { return unlisted.Allow("k") }))
	// Back, and the unlisted one is listed.
	require.NoError(t, g.Apply(policy.Set{policyOf(t, endpoint, "10/h"), policyOf(t, "unlisted", "2/h"), other}))
	require.Equal(t, 2, drain(func() bool { return unlisted.Allow("k") }))
	c.Advance(time.Hour)
	require.Equal(t, 10, drain(func() bool { return listed.Allow("k") }))
	require.Equal(t, 10, drain(func() bool { return g.Endpoint(endpoint).Allow("l") }))
}
