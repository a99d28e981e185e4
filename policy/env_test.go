package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func env(pairs map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := pairs[name]
		return v, ok
	}
}

func limitsOf(t *testing.T, s Set, endpoint string) []string {
	p, ok := s.Lookup(endpoint)
	require.True(t, ok, endpoint)
	var out []string
	for _, l := range p.Limits {
		out = append(out, l.String())
	}
	return out
}

func TestFromEnvWithoutVariablesIsTheBase(t *testing.T) {
	for _, base := range []Set{nil, Default(), MemoryAPI()} {
		for _, vars := range []map[string]string{nil, {"MEM_RATE_LIMIT_INGEST": "", "MEM_RATE_LIMIT_BURST": "  "}, {"OTHER": "x"}} {
			s, err := FromEnv(base, env(vars))
			require.NoError(t, err)
			require.Equal(t, base, s)
		}
	}
}

func TestFromEnvEveryVariable(t *testing.T) {
	base := MemoryAPI()
	s, err := FromEnv(base, env(map[string]string{
		"MEM_RATE_LIMIT_INGEST":   " 200/hour ",
		"MEM_RATE_LIMIT_QUERY":    "50/m burst=5",
		"MEM_RATE_LIMIT_PROJECTS": "unlimited",
		"MEM_RATE_LIMIT_SKILLS":   "7/90s name=slow",
		"MEM_RATE_LIMIT_BURST":    "20",
	}))
	require.NoError(t, err)
	require.Equal(t, []string{"200/h name=hour", "20/s rolling name=burst"}, limitsOf(t, s, MemoryIngest))
	require.Equal(t, []string{"50/m burst=5 name=minute", "20/s rolling name=burst"}, limitsOf(t, s, MemoryQuery))
	require.Equal(t, []string{"20/s rolling name=burst"}, limitsOf(t, s, MemoryProjects))
	require.Equal(t, []string{"7/90s name=slow", "20/s rolling name=burst"}, limitsOf(t, s, MemorySkills))
	require.Equal(t, []string{"20/s rolling name=burst"}, limitsOf(t, s, DefaultEndpoint))
	require.Equal(t, MemoryAPI(), base, "the base was modified")
	require.NoError(t, s.Validate())
}

func TestFromEnvOneAtATime(t *testing.T) {
	const cap10 = "10/s rolling name=burst"
	for _, c := range []struct {
		base        Set
		name, value string
		endpoint    string
		want        []string
	}{
		{MemoryAPI(), "MEM_RATE_LIMIT_INGEST", "deny", MemoryIngest, []string{"deny"}},
		{MemoryAPI(), "MEM_RATE_LIMIT_INGEST", "5/10m", MemoryIngest, []string{"5/10m", cap10}},
		{MemoryAPI(), "MEM_RATE_LIMIT_INGEST", "5/s", MemoryIngest, []string{"5/s name=second", cap10}},
		{MemoryAPI(), "MEM_RATE_LIMIT_INGEST", "5/d", MemoryIngest, []string{"5/d name=day", cap10}},
		{MemoryAPI(), "MEM_RATE_LIMIT_SKILLS", "unlimited", MemorySkills, []string{cap10}},
		{MemoryAPI(), "MEM_RATE_LIMIT_SKILLS", "100/h", MemorySkills, []string{"100/h name=hour", cap10}},
		{MemoryAPI(), "MEM_RATE_LIMIT_BURST", "unlimited", MemoryIngest, []string{"100/h name=hour"}},
		{MemoryAPI(), "MEM_RATE_LIMIT_BURST", "unlimited", MemorySkills, []string{"unlimited"}},
		{MemoryAPI(), "MEM_RATE_LIMIT_BURST", "20/2s", MemoryQuery, []string{"1000/h name=hour", "20/2s rolling name=burst"}},
		{MemoryAPI(), "MEM_RATE_LIMIT_BURST", "20/s rolling", MemoryQuery, []string{"1000/h name=hour", "20/s rolling name=burst"}},
		{Default(), "MEM_RATE_LIMIT_INGEST", "100/hour", MemoryIngest, []string{"100/h name=hour"}},
		{Default(), "MEM_RATE_LIMIT_BURST", "3", "config.update", []string{"10/s"}},
		{Set{{Endpoint: MemorySkills, Limits: []Limit{{Window: Unlimited}}}}, "MEM_RATE_LIMIT_BURST", "3", MemorySkills, []string{"3/s rolling name=burst"}},
		{Set{{Endpoint: MemorySkills, Limits: []Limit{{Window: Deny}}}}, "MEM_RATE_LIMIT_BURST", "3", MemorySkills, []string{"deny"}},
	} {
		before := c.base.Clone()
		s, err := FromEnv(c.base, env(map[string]string{c.name: c.value}))
		require.NoError(t, err, c.value)
		require.Equal(t, c.want, limitsOf(t, s, c.endpoint), c.value)
		require.Equal(t, before, c.base)
	}
}

func TestFromEnvKeepsTheRestOfThePolicy(t *testing.T) {
	base := Set{{Endpoint: MemoryIngest, Limits: []Limit{{Tokens: 1, Per: time.Second}, {Tokens: 5, Per: time.Minute}}, Credit: 3, Shadow: true}}
	s, err := FromEnv(base, env(map[string]string{"MEM_RATE_LIMIT_INGEST": "9/h"}))
	require.NoError(t, err)
	require.Equal(t, Set{{Endpoint: MemoryIngest, Limits: []Limit{{Name: "hour", Tokens: 9, Per: time.Hour}}, Credit: 3, Shadow: true}}, s)
}

func TestFromEnvReportsEveryFaultAtOnce(t *testing.T) {
	const form = `; write the requests allowed in any second, as in "10", or in any other period, as in "20/2s", or "unlimited"`
	s, err := FromEnv(MemoryAPI(), env(map[string]string{
		"MEM_RATE_LIMIT_INGEST":   "abc",
		"MEM_RATE_LIMIT_QUERY":    "100",
		"MEM_RATE_LIMIT_PROJECTS": "0/h",
		"MEM_RATE_LIMIT_SKILLS":   "5/s name=burst",
		"MEM_RATE_LIMIT_BURST":    "-1",
	}))
	require.Nil(t, s)
	require.Equal(t, []string{
		`MEM_RATE_LIMIT_INGEST = "abc": not a rate; ` + limitForm,
		`MEM_RATE_LIMIT_QUERY = 100: not a rate; ` + limitForm,
		`MEM_RATE_LIMIT_PROJECTS = 0/h: tokens must be above zero; ` + limitForm,
		`MEM_RATE_LIMIT_SKILLS = "5/s name=burst": the name "burst" is that of the burst cap, which MEM_RATE_LIMIT_BURST sets; write another name, or none`,
		`MEM_RATE_LIMIT_BURST = -1: not a rate` + form,
	}, messages(err))

	for _, value := range []string{"0", "1.5", "1e30", "abc", "deny", "10/s aligned", "10/s burst=5", "10/s name=x", "10/s reserve=2", "10/s rolling skew=1ms", "99999999999999999999",
		"3000000000", "1/2d", "unlimited name=x"} {
		_, err := FromEnv(MemoryAPI(), env(map[string]string{"MEM_RATE_LIMIT_BURST": value}))
		var fault *ConfigError
		require.ErrorAs(t, err, &fault, value)
		require.Equal(t, "MEM_RATE_LIMIT_BURST", fault.Field)
		require.Equal(t, value, fault.Value)
		require.Contains(t, fault.Reason, form)
	}

	_, err = FromEnv(Set{{Endpoint: "a"}}, env(nil))
	require.ErrorContains(t, err, "policies[0](a).limits")
	_, err = FromEnv(nil, nil)
	require.ErrorContains(t, err, "os.LookupEnv")
}

func TestEnvFrom(t *testing.T) {
	defaults := Env{CacheSize: 10_000, CacheTTL: time.Second, IdempotencyTTL: 24 * time.Hour}
	for _, vars := range []map[string]string{nil, {"REDIS_URL": "", "RATE_LIMITER_CACHE_SIZE": " "}} {
		e, err := EnvFrom(env(vars))
		require.NoError(t, err)
		require.Equal(t, defaults, e)
	}
	e, err := EnvFrom(env(map[string]string{
		"RATE_LIMITER_CACHE_SIZE":        "1073741824",
		"RATE_LIMITER_CACHE_TTL_SECONDS": " 31536000",
		"MEM_IDEMPOTENCY_TTL_SECS":       "1",
		"REDIS_URL":                      "rediss://u:p@a:1,b:2/3",
	}))
	require.NoError(t, err)
	require.Equal(t, Env{MaxCacheSize, MaxPer, "rediss://u:p@a:1,b:2/3", time.Second}, e)
}

func TestEnvFromReportsEveryFaultAtOnce(t *testing.T) {
	e, err := EnvFrom(env(map[string]string{
		"RATE_LIMITER_CACHE_SIZE":        "1e4",
		"RATE_LIMITER_CACHE_TTL_SECONDS": "1.5",
		"MEM_IDEMPOTENCY_TTL_SECS":       "24h",
		"REDIS_URL":                      "http://user:hunter2@host",
	}))
	require.Zero(t, e)
	require.Equal(t, []string{
		`RATE_LIMITER_CACHE_SIZE = 1e4: must be a whole number of keys from 1 to 1073741824, as in "10000"`,
		`RATE_LIMITER_CACHE_TTL_SECONDS = 1.5: must be a whole number of seconds from 1 to 31536000, as in "1"`,
		`MEM_IDEMPOTENCY_TTL_SECS = 24h: must be a whole number of seconds from 1 to 31536000, as in "86400"`,
		`REDIS_URL = "http://***": the scheme must be redis, rediss, valkey, valkeys or unix; ` + redisForm,
	}, messages(err))

	for _, value := range []string{"0", "-1", "+5", "abc", "NaN", "1e30", "99999999999999999999", "1073741825", "0x10", "1_0"} {
		_, err := EnvFrom(env(map[string]string{"RATE_LIMITER_CACHE_SIZE": value}))
		require.ErrorContains(t, err, "RATE_LIMITER_CACHE_SIZE", value)
	}
	_, err = EnvFrom(nil)
	require.ErrorContains(t, err, "os.LookupEnv")
}

func TestRedisURL(t *testing.T) {
	for _, good := range []string{
		"redis://localhost", "redis://localhost:6379", "redis://localhost:6379/0", "redis://10.0.0.1:7000,10.0.0.2:7001,c",
		"rediss://user:p%40ss@redis.example.com:6380/2?timeout=5s", "redis://:secret@host/", "redis://[::1]:6379,[fe80::1]",
		"valkey://localhost", "valkeys://user:p%40ss@a:6380,b:6380/2",
		"unix:///run/redis.sock", "unix://user:secret@/run/redis.sock?db=1",
	} {
		_, err := EnvFrom(env(map[string]string{"REDIS_URL": good}))
		require.NoError(t, err, good)
	}
	// Every one of these holds the word hunter2, none of the errors does.
	for bad, reason := range map[string]string{
		"hunter2":                            "has no scheme",
		"redis:/:hunter2@host":               "has no scheme",
		"hunter2://host":                     "the scheme must be",
		"redis://:hunter2":                   "address 1 has no host",
		"redis://user:hunter2":               "address 1 has a port",
		"redis://user:hunter2@":              "address 1 has no host",
		"redis://u:hunter2@a,,b":             "address 2 has no host",
		"redis://u:hunter2@a:0":              "address 1 has a port",
		"redis://u:hunter2@a:65536":          "address 1 has a port",
		"redis://u:hunter2@a:+1":             "address 1 has a port",
		"redis://u:hunter2@a:":               "address 1 has a port",
		"redis://u:hunter2@a/db":             "the database after the slash",
		"redis://u:p@hunter2@a":              `a bare "@"`,
		"redis://u:p/hunter2@a":              "the database after the slash",
		"redis://u:hunter2?x@a":              "address 1 has a port",
		"redis://u:hunter2@[::1":             "address 1 is not an IPv6 address",
		"redis://u:hunter2@[1.2.3.4]":        "address 1 is not an IPv6 address",
		"redis://u:hunter2@[::1]x":           "address 1 has something other than a port",
		"redis://u:hunter2@a b":              "must not contain spaces",
		"redis://u:hunter2@a\n":              "",
		"redis://u:hunter2@h!st":             "address 1 has a host with characters",
		"redis://a:1,redis://u:hunter2@b:1":  "",
		"unix://hunter2":                     "a socket needs an absolute path",
		"unix://u:hunter2@host/run/x.sock":   "a socket needs an absolute path",
		"unix:///":                           "a socket needs an absolute path",
		"postgresql://u:hunter2@host/db":     "the scheme must be",
		"averyveryverylongword://u:hunter2@": "the scheme must be",
	} {
		e, err := EnvFrom(env(map[string]string{"REDIS_URL": bad}))
		if bad == "redis://u:hunter2@a\n" { // the line end around a value is not part of it
			require.NoError(t, err)
			continue
		}
		require.Zero(t, e)
		require.ErrorContains(t, err, "REDIS_URL = ", bad)
		require.ErrorContains(t, err, reason, bad)
		require.ErrorContains(t, err, "write redis://", bad)
		require.NotContains(t, err.Error(), "hunter2", bad)
	}
}
