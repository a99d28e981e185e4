package admin

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/denials"
	"github.com/tickgate/tickgate/policy"
)

// twoGates is an admin port of two gates, the first of which knows callers by other names.
func twoGates(t *testing.T) (r *rig, envoy *tickgate.Gate) {
	t.Helper()
	r = rigOf(t, func(r *rig) {
		var err error
		envoy, err = tickgate.New(tickgate.Config{
			Policies: policy.Set{limited("d;user", "2/h")}, MaxKeys: 10, Clock: r.clock, Audit: r.Changes.Of("envoy"),
		})
		require.NoError(t, err)
		r.Beside = []Beside{{"envoy", envoy}}
		r.Elsewhere = []string{"paid"}
		r.Name = func(caller string) string { return hex.EncodeToString([]byte(caller)) }
	}, limited("orders", "5/h"))
	return r, envoy
}

// A block is of all gates, and so is its end; the answer and the record say of which.
func TestBlockReachesEveryGate(t *testing.T) {
	r, envoy := twoGates(t)
	main := func(key string) bool { return r.Gate.Allow(hex.EncodeToString([]byte(key)), "orders") }
	order := func(path, body string) []any {
		return object(t, r.ask("POST", path, body, nil), 200)["gates"].([]any)
	}
	both := []any{
		map[string]any{"gate": "main", "key": r.Denials.Name(hex.EncodeToString([]byte("7")))},
		map[string]any{"gate": "envoy", "key": r.Denials.Name("7")},
	}
	require.Equal(t, both, order("/v1/block", `{"apikey":"7","who":"risk"}`))
	require.Equal(t, []bool{false, false}, []bool{main("7"), envoy.Allow("7", "d;user")})
	require.Equal(t, []bool{true, true}, []bool{main("8"), envoy.Allow("8", "d;user")})
	require.Equal(t, both, order("/v1/unblock", `{"apikey":"7","who":"risk"}`))
	require.Equal(t, []bool{true, true}, []bool{main("7"), envoy.Allow("7", "d;user")})
	all := []any{map[string]any{"gate": "main"}, map[string]any{"gate": "envoy"}}
	require.Equal(t, all, order("/v1/block", `{"everyone":true,"who":"risk"}`))
	require.Equal(t, []bool{false, false}, []bool{main("9"), envoy.Allow("9", "d;user")})
	require.Equal(t, all, order("/v1/unblock", `{"everyone":true,"who":"risk"}`))
	require.Equal(t, []bool{true, true}, []bool{main("9"), envoy.Allow("9", "d;user")})

	told := object(t, r.get("/debug/tickgate/data"), 200)["changes"].([]any)
	require.Len(t, told, 8)
	require.Equal(t, []any{"gate envoy"}, told[0].(map[string]any)["lines"])
	require.Nil(t, told[1].(map[string]any)["lines"])
	require.Equal(t, "risk", told[0].(map[string]any)["who"])

	// A name of any length is one to a gate that hashes, and none to one that does not.
	long := strings.Repeat("k", 200)
	require.Len(t, order("/v1/block", `{"apikey":"`+long+`","who":"risk"}`), 1, "in hexadecimal it is too long for main")
	require.True(t, envoy.Take(long, "d;user", 1).Reason == tickgate.Blocked)
}

// What a caller has used is told of all gates, and where it is not known that is said.
func TestUsageOfEveryGate(t *testing.T) {
	r, envoy := twoGates(t)
	r.Gate.Allow(hex.EncodeToString([]byte("7")), "orders")
	envoy.Allow("7", "d;user")
	got := object(t, r.get("/v1/usage?apikey=7"), 200)
	require.Equal(t, []any{"paid"}, got["elsewhere"])
	quotas := got["quotas"].([]any)
	require.Len(t, quotas, 2)
	for i, want := range [][2]string{{"main", "orders"}, {"envoy", "d;user"}} {
		q := quotas[i].(map[string]any)
		require.Equal(t, want, [2]string{q["gate"].(string), q["endpoint"].(string)})
	}
	require.Equal(t, r.Denials.Name("7"), got["gates"].([]any)[1].(map[string]any)["key"])
}

// The page is of all gates: numbers are of all together, and lines say which.
func TestPageShowsEveryGate(t *testing.T) {
	r, envoy := twoGates(t)
	for range 3 {
		if d := envoy.Take("7", "d;user", 1); !d.Allowed {
			r.Denials.Add(&denials.Denial{At: r.now(), Gate: "envoy", APIKey: "7", Endpoint: "d;user", Reason: d.Reason, Cost: 1, Version: "rls@1"})
		}
	}
	r.Gate.Allow("x", "orders")
	require.NoError(t, envoy.As("rls@2").Apply(policy.Set{limited("d;user", "1/h")}))
	require.Error(t, envoy.As("rls@3").Apply(nil))
	r.pass(time.Minute)
	d := object(t, r.get("/debug/tickgate/data"), 200)
	gate := d["gate"].(map[string]any)
	require.Equal(t, []any{2.0, 1010.0, 4.0}, []any{gate["keys"], gate["capacity"], gate["decided"]})
	rows := d["policies"].([]any)
	require.Len(t, rows, 2)
	row := rows[1].(map[string]any)
	require.Equal(t, []any{"envoy: d;user", 2.0, 1.0}, []any{row["endpoint"], row["allowed"], row["denied"]})
	require.Equal(t, 1.0, row["limits"].([]any)[0].(map[string]any)["used_up"])
	require.Equal(t, "envoy: d;user", d["rejects"].(map[string]any)["last"].([]any)[0].(map[string]any)["endpoint"])
	require.Equal(t, "envoy: d;user", d["top"].(map[string]any)["keys"].([]any)[0].(map[string]any)["endpoint"])
	changes := d["changes"].([]any)
	require.Contains(t, changes[0].(map[string]any)["fault"], "envoy: ")
	require.Equal(t, []any{"gate envoy", "d;user: 2/h → 1/h"}, changes[1].(map[string]any)["lines"])
	require.Equal(t, "rls@2", changes[1].(map[string]any)["who"])
}
