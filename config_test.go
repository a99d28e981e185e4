package tickgate_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

// faultsOf lists all faults that an error joins.
func faultsOf(err error) (faults []*tickgate.ConfigError) {
	if one, ok := err.(*tickgate.ConfigError); ok {
		return append(faults, one)
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			faults = append(faults, faultsOf(e)...)
		}
	}
	return faults
}

func TestConfigZeroIsADefault(t *testing.T) {
	g, err := tickgate.New(tickgate.Config{})
	require.NoError(t, err)
	require.Equal(t, tickgate.DefaultMaxKeys, g.Stats().Capacity)
	require.True(t, policy.Default().Equal(g.Policies()))
	require.True(t, g.Allow("k", "any"))
	require.NoError(t, g.Close())
	require.NoError(t, g.Close())
	require.True(t, g.Allow("k", "any"), "after Close decisions are still right")
}

func TestConfigEmptySetDeniesAll(t *testing.T) {
	g, err := tickgate.New(tickgate.Config{Policies: policy.Set{}})
	require.NoError(t, err)
	require.False(t, g.Allow("k", "any"))
	d := g.Take("k", "any", 1)
	require.Equal(t, tickgate.NoPolicy, d.Reason)
	require.Equal(t, tickgate.Never, d.RetryAfter)
	_, err = g.Handle("k", "any")
	require.ErrorIs(t, err, tickgate.ErrNoPolicy)
	require.Equal(t, uint64(2), g.Stats().NoPolicy)
}

// Every fault is reported, not the first alone, and each on a line of its own
// that names the field, the value and what to do.
func TestConfigReportsEveryFault(t *testing.T) {
	_, err := tickgate.New(tickgate.Config{
		MaxKeys: -5,
		OnFull:  7,
		Policies: policy.Set{
			{Endpoint: "", Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}},
			{Endpoint: "a", Limits: []policy.Limit{{Tokens: 0, Per: -1, Burst: -2}}},
			{Endpoint: "a", Limits: []policy.Limit{{Tokens: 10, Per: time.Second, Window: 9}}, Shadow: true},
			{Endpoint: "b", Credit: -1},
		},
	})
	require.Error(t, err)
	faults := faultsOf(err)
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Field)
		require.NotEmpty(t, f.Reason)
	}
	require.ElementsMatch(t, []string{
		"policies[0].endpoint",
		"policies[1](a).limits[0].tokens", "policies[1](a).limits[0].per", "policies[1](a).limits[0].burst",
		"policies[2](a).endpoint", "policies[2](a).limits[0].window",
		"policies[3](b).limits", "policies[3](b).credit",
		"MaxKeys", "OnFull",
	}, fields)
	require.Len(t, strings.Split(err.Error(), "\n"), len(faults))
	var one *tickgate.ConfigError
	require.True(t, errors.As(err, &one))
}

func TestConfigMessages(t *testing.T) {
	one := policy.Set{{Endpoint: "a", Limits: []policy.Limit{{Tokens: 1, Per: time.Second}}}}
	for _, c := range []struct {
		cfg  tickgate.Config
		want string
	}{
		{tickgate.Config{Policies: one, MaxKeys: -1}, "MaxKeys = -1: must be 1 to 1073741824, or 0 for 10000"},
		{tickgate.Config{Policies: one, OnFull: 9}, `OnFull = "OnFull(9)": must be EvictIdle or RejectNew`},
		{
			tickgate.Config{Policies: policy.Set{one[0], one[0]}},
			`policies[1](a).endpoint = "a": listed twice, first in policies[0]; keep one`,
		},
	} {
		_, err := tickgate.New(c.cfg)
		require.EqualError(t, err, c.want)
	}
}

// More keys than a table can be made for is an error, and not memory.
func TestConfigMaxKeysAboveLargest(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("no such number here")
	}
	most := int64(1 << 30)
	_, err := tickgate.New(tickgate.Config{MaxKeys: int(most + 1)})
	require.ErrorContains(t, err, "MaxKeys = 1073741825: must be 1 to 1073741824")
}

func TestConfigEndpointNames(t *testing.T) {
	limits := []policy.Limit{{Tokens: 1, Per: time.Hour}}
	for _, name := range []string{"a", strings.Repeat("a", 256), "POST /memory/ingest", "ключ"} {
		g, err := tickgate.New(tickgate.Config{Policies: policy.Set{{Endpoint: name, Limits: limits}}})
		require.NoError(t, err)
		require.Equal(t, 1, drain(func() bool { return g.Allow("k", name) }))
	}
	_, err := tickgate.New(tickgate.Config{Policies: policy.Set{{Endpoint: strings.Repeat("a", 257), Limits: limits}}})
	require.Error(t, err)
}

func TestOnFullString(t *testing.T) {
	require.Equal(t, "evict-idle", fmt.Sprint(tickgate.EvictIdle))
	require.Equal(t, "reject-new", fmt.Sprint(tickgate.RejectNew))
	require.Equal(t, "OnFull(3)", fmt.Sprint(tickgate.OnFull(3)))
}
