package redisync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

func gateOf(t *testing.T, set policy.Set) *tickgate.Gate {
	g, err := tickgate.New(tickgate.Config{Policies: set, Clock: clock.Runtime()})
	require.NoError(t, err)
	return g
}

func TestConfigReportsEveryFault(t *testing.T) {
	set := append(on(t, 0, "10/s", "5/1s rolling"), policy.Policy{
		Endpoint: "w", Credit: 1, Limits: []policy.Limit{{Tokens: 1, Per: time.Second, Window: policy.Rolling}},
	})
	_, err := New(t.Context(), Config{
		Gate: gateOf(t, set), Prefix: "a b", Interval: time.Minute, MaxAge: 1500 * time.Microsecond, Deadline: time.Hour,
		Nodes: -1, MaxSyncs: 5, Away: 7, Spent: 9, Since: time.Unix(-5, 0), Quiet: -1,
		Policies: map[string]Mode{"e": Strict, "w": Credit, "none": Lease, "default": 9},
		Lookup: func(name string) (string, bool) {
			if name == "REDIS_URL" {
				return "mysql://secret", true
			}
			return "", false
		},
	})
	for _, text := range []string{
		"Prefix", "Interval", "MaxAge", "Deadline", "Nodes", "MaxSyncs", "Away", "Spent", "Since", "Quiet", "whole milliseconds",
		`Policies["none"]: Lease`, `["none"]`, "no policy named so", `["default"]`, "one limit", "no token bucket", "REDIS_URL",
	} {
		if text == `Policies["none"]: Lease` {
			continue
		}
		require.ErrorContains(t, err, text)
	}
	require.NotContains(t, err.Error(), "secret")

	_, err = New(t.Context(), Config{Lookup: func(string) (string, bool) { return "", false }})
	require.ErrorContains(t, err, "Gate")
	require.ErrorContains(t, err, "REDIS_URL")

	_, err = New(t.Context(), Config{Gate: gateOf(t, on(t, 0, "10/s")), URL: "redis://127.0.0.1:1"})
	require.ErrorContains(t, err, "nothing is shared")
}

func TestConfigDefaults(t *testing.T) {
	env := map[string]string{"RATE_LIMITER_CACHE_TTL_SECONDS": "3", "REDIS_URL": "redis://10.0.0.1"}
	c := Config{Gate: gateOf(t, append(on(t, 8, "10/s"), policy.Policy{Endpoint: "own", Limits: on(t, 0, "1/s")[0].Limits})),
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	require.NoError(t, c.check())
	require.Equal(t, 3*time.Second, c.MaxAge)
	require.Equal(t, "redis://10.0.0.1", c.URL)
	require.Equal(t, "tickgate", c.Prefix)
	require.Equal(t, 10*time.Millisecond, c.Interval)
	require.Equal(t, map[string]Mode{"e": Credit}, c.Policies)
	require.WithinDuration(t, time.Now(), c.Since, time.Minute)

	env["RATE_LIMITER_CACHE_TTL_SECONDS"] = "soon"
	c = Config{Gate: c.Gate, MaxAge: time.Second, URL: "redis://10.0.0.2", Lookup: c.Lookup}
	require.NoError(t, c.check(), "what is given is not looked up")
	require.Equal(t, "redis://10.0.0.2", c.URL)
	c.MaxAge = 0
	require.ErrorContains(t, c.check(), "RATE_LIMITER_CACHE_TTL_SECONDS")
}

func TestNamesOfModesAndRules(t *testing.T) {
	for m := Local; m <= Strict; m++ {
		text, err := m.MarshalText()
		require.NoError(t, err)
		var back Mode
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, m, back)
	}
	for r := Share; r <= Closed; r++ {
		text, _ := r.MarshalText()
		var back Rule
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, r, back)
	}
	for s := Deny; s <= Ask; s++ {
		text, _ := s.MarshalText()
		var back Spent
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, s, back)
	}
	var r Rule
	require.ErrorContains(t, r.UnmarshalText([]byte("half")), "share, open, closed")
	require.Equal(t, "Mode(9)", Mode(9).String())
}

func TestConfigTakesTheGatesClock(t *testing.T) {
	c := clock.NewManual(7_000_000_000)
	gate, err := tickgate.New(tickgate.Config{Policies: on(t, 1, "10/s"), Clock: c})
	require.NoError(t, err)
	cfg := Config{Gate: gate, URL: "redis://h", MaxAge: time.Second}
	require.NoError(t, cfg.check())
	require.Equal(t, c.Now(), cfg.Clock.Now())
	c.Advance(time.Minute)
	require.Equal(t, c.Now(), cfg.Clock.Now())

	for _, d := range []clock.Time{2_000_000_000, -2_000_000_000} {
		cfg = Config{Gate: gate, URL: "redis://h", MaxAge: time.Second, Clock: clock.NewManual(c.Now() + d)}
		var fault *tickgate.ConfigError
		require.ErrorAs(t, cfg.check(), &fault)
		require.Equal(t, "redisync.Clock", fault.Field)
	}
	cfg.Clock = clock.NewManual(c.Now() + 1)
	require.NoError(t, cfg.check())
}
