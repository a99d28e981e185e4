package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSetLookupIsExact(t *testing.T) {
	p, ok := Default().Lookup("config.update")
	require.True(t, ok)
	require.EqualValues(t, 2, p.Credit)
	for _, endpoint := range []string{"", "config", "Config.update", "config.update ", "unknown"} {
		_, ok := Default().Lookup(endpoint)
		require.False(t, ok, endpoint)
	}
}

func TestSetWithAndCloneShareNothing(t *testing.T) {
	base := Default()
	p := Policy{Endpoint: "config.update", Limits: []Limit{{Tokens: 3, Per: time.Second}}, Shadow: true}
	replaced := base.With(p)
	require.True(t, base.Equal(Default()))
	require.Len(t, replaced, len(base))
	require.True(t, replaced[1].Equal(p))
	p.Limits[0].Tokens = 99
	require.EqualValues(t, 3, replaced[1].Limits[0].Tokens)

	added := base.With(Policy{Endpoint: "new", Limits: []Limit{{Window: Deny}}})
	require.Len(t, added, len(base)+1)
	require.NoError(t, added.Validate())
	require.Len(t, base, 4)

	clone := base.Clone()
	require.True(t, clone.Equal(base))
	clone[0].Limits[0].Tokens = 1
	clone[1].Endpoint = "x"
	require.True(t, base.Equal(Default()))

	require.Nil(t, Set(nil).Clone())
	require.Len(t, Set(nil).With(p), 1)
}

func TestPolicyEqual(t *testing.T) {
	base := func() Policy {
		return Policy{Endpoint: "a", Limits: []Limit{{Tokens: 1, Per: 1}, {Tokens: 2, Per: 1}}, Credit: 1}
	}
	require.True(t, base().Equal(base()))
	for _, change := range []func(*Policy){
		func(p *Policy) { p.Endpoint = "b" },
		func(p *Policy) { p.Credit = 2 },
		func(p *Policy) { p.Shadow = true },
		func(p *Policy) { p.Limits = p.Limits[:1] },
		func(p *Policy) { p.Limits[1].Name = "x" },
		func(p *Policy) { p.Limits[0], p.Limits[1] = p.Limits[1], p.Limits[0] },
	} {
		q := base()
		change(&q)
		require.False(t, base().Equal(q))
	}
}

func TestDefault(t *testing.T) {
	s := Default()
	require.NoError(t, s.Validate())
	require.Len(t, s, 4)
	for _, want := range []struct {
		endpoint string
		capacity int64
		tokens   int64
		per      time.Duration
		credit   int64
	}{
		{"trading.submit_order", 100, 100, time.Second, 10},
		{"config.update", 10, 10, time.Second, 2},
		{"backtesting.run", 5, 5, 60 * time.Second, 1},
		{"default", 50, 50, time.Second, 5},
	} {
		p, ok := s.Lookup(want.endpoint)
		require.True(t, ok, want.endpoint)
		require.Len(t, p.Limits, 1)
		require.Equal(t, want.capacity, p.Limits[0].Capacity())
		require.Equal(t, Rate{want.tokens, want.per}, p.Limits[0].Rate())
		require.Equal(t, TokenBucket, p.Limits[0].Window)
		require.Equal(t, want.credit, p.Credit)
		require.False(t, p.Shadow)
	}
	s[0].Limits[0].Tokens = 1
	require.EqualValues(t, 100, Default()[0].Limits[0].Tokens)
}

func TestMemoryAPI(t *testing.T) {
	s := MemoryAPI()
	require.NoError(t, s.Validate())
	require.Len(t, s, 5)
	burst := Limit{Name: "burst", Tokens: 10, Per: time.Second, Window: Rolling}
	hour := func(n int64) Limit { return Limit{Name: "hour", Tokens: n, Per: time.Hour} }
	for endpoint, want := range map[string][]Limit{
		"POST /memory/ingest":  {hour(100), burst},
		"GET /memory/query":    {hour(1000), burst},
		"GET /memory/projects": {hour(100), burst},
		"GET /memory/skills":   {burst},
		"default":              {burst},
	} {
		p, ok := s.Lookup(endpoint)
		require.True(t, ok, endpoint)
		require.Equal(t, want, p.Limits, endpoint)
	}
}
