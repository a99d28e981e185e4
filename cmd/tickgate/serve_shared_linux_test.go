package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// refuses has a file say something that is not to come into force, and checks why.
func (s *served) refuses(t *testing.T, file, text string, reasons ...string) {
	t.Helper()
	_, version, before := s.source(t, "in force")
	replace(t, file, text)
	s.hangup <- struct{}{}
	soon(t, "it is refused: "+text, func() bool { _, _, refused := s.source(t, "in force"); return refused > before })
	fault, now, _ := s.source(t, "in force")
	for _, reason := range reasons {
		require.Contains(t, fault, reason, text)
	}
	require.Equal(t, version, now, "what was in force stays: %s", text)
}

// TestServeSharedStays: which policies are shared is decided at the start. A set that
// would be shared in another way at a start is refused, and says so: it is in force in
// no process by half. Everything else about policies changes live.
func TestServeSharedStays(t *testing.T) {
	r := startRedis(t)
	file := write(t, "p.yaml", `
- {endpoint: paid, limits: [100/h], credit: 5}
- {endpoint: once, limits: [100/h]}
- {endpoint: own, limits: [100/h]}
`)
	s := serve(t, nil, "--policies", file, "--redis", r.url(), "--redis-mode", "once=strict", "--redis-mode", "own=local", "--redis-deadline", "5s")
	const once = "- {endpoint: once, limits: [100/h]}\n- {endpoint: own, limits: [100/h]}\n"
	const paid = "- {endpoint: paid, limits: [100/h], credit: 5}\n"

	s.refuses(t, file, once+paid+"- {endpoint: late, limits: [1/s], credit: 2}\n- {endpoint: later, limits: [1/s], credit: 2}\n",
		"policies(late): has a credit and is not shared yet", "policies(later): ", "restart", "decided at the start")
	require.Contains(t, s.String(), "policies(late)")
	require.Contains(t, s.take(t, "", "k", "late").text, "no policy", "not in force by half")
	s.refuses(t, file, once+"- {endpoint: paid, limits: [100/h]}\n", "policies(paid): is shared on credit and has no credit any more", "restart")
	s.refuses(t, file, "- {endpoint: own, limits: [1/s]}\n"+paid, `redisync.Policies["once"]`, "no policy named so")
	s.refuses(t, file, paid+"- {endpoint: own, limits: [1/s]}\n- {endpoint: once, limits: [1/s, 9/m]}\n", `redisync.Policies["once"]`, "needs a policy of one limit")

	replace(t, file, once+"- {endpoint: late, limits: [3/h]}\n- {endpoint: paid, limits: [200/h], credit: 7}\n")
	s.hangup <- struct{}{}
	s.limited(t, "late", "3/h")
	s.limited(t, "paid", "200/h")
	replace(t, file, strings.Replace(once, "endpoint: own, limits: [100/h]", "endpoint: own, limits: [9/h], credit: 3", 1)+paid)
	s.hangup <- struct{}{}
	s.limited(t, "own", "9/h") // a mode that is named goes before the credit
}

// TestServeNothingSharedStays: where Redis keeps results alone, a credit that comes later
// is not taken for a shared budget.
func TestServeNothingSharedStays(t *testing.T) {
	r := startRedis(t)
	file := write(t, "p.yaml", "- {endpoint: default, limits: [100/h]}\n")
	s := serve(t, nil, "--policies", file, "--redis", r.url(), "--upstream", upstream(t, noContent))
	require.Contains(t, s.String(), "no budget is shared through Redis")
	s.refuses(t, file, "- {endpoint: default, limits: [100/h], credit: 5}\n", "policies(default): has a credit and is not shared yet", "restart")
}

// TestServeStrictDefault: a policy that comes later takes its endpoint out of what Redis
// is asked for, and one that goes puts it back.
func TestServeStrictDefault(t *testing.T) {
	r := startRedis(t)
	file := write(t, "p.yaml", "- {endpoint: default, limits: [100/h]}\n- {endpoint: paid, limits: [100/h], credit: 5}\n- {endpoint: own, limits: [4/h]}\n")
	s := serve(t, nil, "--policies", file, "--redis", r.url(), "--redis-mode", "default=strict", "--redis-deadline", "5s")
	require.Contains(t, s.take(t, "", "k", "own").text, `"limit":"4/h"`)
	s.refuses(t, file, "- {endpoint: default, limits: [100/h]}\n", "policies(paid): is shared on credit and is missing, and default is strict")
	const paid = "- {endpoint: default, limits: [100/h]}\n- {endpoint: paid, limits: [100/h], credit: 5}\n"
	replace(t, file, paid)
	s.hangup <- struct{}{}
	soon(t, "own is asked of Redis", func() bool {
		text := s.take(t, "", "k", "own").text
		return strings.Contains(text, `"allowed":true`) && strings.Contains(text, `"limit":"100/h"`)
	})
	replace(t, file, paid+"- {endpoint: own, limits: [2/h]}\n")
	s.hangup <- struct{}{}
	soon(t, "own has its own again", func() bool { return strings.Contains(s.take(t, "", "k", "own").text, `"limit":"2/h"`) })
}

// TestServeRedisQuiet: who vouches that nobody had leases has them at once, by a flag, a
// variable or the file. Others wait for those of before to end. The metrics show which.
func TestServeRedisQuiet(t *testing.T) {
	leased := []string{"--set", "lease=5/h", "--redis-mode", "lease=lease"}
	variable := map[string]string{"TICKGATE_REDIS_QUIET": "2h"}
	for name, given := range map[string]struct {
		environment map[string]string
		args        []string
	}{
		"a flag":     {nil, []string{"--redis-quiet", "2h"}},
		"a variable": {variable, nil},
		"the file":   {nil, []string{"--config", write(t, "c.yaml", "redis-quiet: 2h\n")}},
	} {
		r := startRedis(t)
		s := serve(t, given.environment, append(append([]string{"--redis", r.url()}, leased...), given.args...)...)
		soon(t, name, func() bool { return strings.Contains(s.take(t, "", "k", "lease").text, `"allowed":true`) })
		soon(t, name+": the lease is seen", func() bool { return s.metric(t, "tickgate_sync_leases") == "1" })
		require.NotEqual(t, "0", s.metric(t, "tickgate_sync_lease_granted_total"), name)
		require.Equal(t, "0", s.metric(t, "tickgate_sync_lease_learning_total"), name)
	}
	r := startRedis(t)
	s := serve(t, map[string]string{"RATE_LIMITER_CACHE_TTL_SECONDS": "60"}, append([]string{"--redis", r.url()}, leased...)...)
	require.Contains(t, s.take(t, "", "k", "lease").text, `"reason":"unsettled"`)
	soon(t, "Redis says that it does not know", func() bool { return s.metric(t, "tickgate_sync_lease_learning_total") != "0" })
	require.Contains(t, s.take(t, "", "k", "lease").text, `"reason":"unsettled"`)
	require.Equal(t, "0", s.metric(t, "tickgate_sync_lease_granted_total"))
}

// TestServeSaysWhatNeverPasses: of a policy on credit no call for more than the credit ever
// passes. The start and check-config say so, and of what Redis alone knows operators are told
// that it does.
func TestServeSaysWhatNeverPasses(t *testing.T) {
	r := startRedis(t)
	args := []string{"--redis", r.url(), "--set", "once=9/h", "--redis-mode", "once=strict", "--redis-deadline", "5s"}
	s := serve(t, nil, args...)
	require.Contains(t, s.String(), "policy=backtesting.run credit=1 capacity=5")
	require.NotContains(t, s.String(), "policy=once")
	res := s.ask(t, "", "POST", "/v1/take", `{"apikey":"k","endpoint":"backtesting.run","n":2}`, "Content-Type", "application/json")
	require.Contains(t, res.text, `"reason":"too costly"`)
	require.Contains(t, res.text, `"never":true`)
	require.Contains(t, s.take(t, "", "k", "backtesting.run").text, `"allowed":true`)
	require.Contains(t, s.take(t, "", "k", "once").text, `"allowed":true`)
	usage := s.ask(t, "operators", "GET", "/v1/usage?apikey=k", "").text
	require.Contains(t, usage, `"elsewhere":["once"]`)
	require.NotContains(t, usage, `"endpoint":"once"`)

	checked := command(t, "", append([]string{"check-config"}, args...)...)
	require.Equal(t, exitOK, checked.status, checked.stderr)
	require.Contains(t, checked.stdout, "5/m credit=1 mode=credit never more than 1 in one call")
}
