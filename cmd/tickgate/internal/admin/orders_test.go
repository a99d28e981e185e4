package admin

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
)

func TestUsage(t *testing.T) {
	r := rigOf(t, nil, limited("orders", "5/h name=hour", "100/d"), limited("default", "9/h"))
	require.Equal(t, []any{}, object(t, r.get("/v1/usage?apikey=desk"), 200)["quotas"])
	r.take(2, "desk", "orders")
	r.take(1, "desk", "elsewhere")
	r.take(1, "other", "orders")
	h, err := r.Gate.Handle("desk", "orders")
	require.NoError(t, err)
	h.Ban(r.clock.Now().Add(time.Minute))
	got := object(t, r.get("/v1/usage?apikey=desk"), 200)
	require.Equal(t, "desk", got["apikey"])
	require.Equal(t, r.Denials.Name("desk"), got["key"])
	require.Equal(t, []any{map[string]any{"gate": "main", "key": r.Denials.Name("desk")}}, got["gates"])
	require.NotContains(t, got, "elsewhere")
	require.ElementsMatch(t, []any{
		map[string]any{"gate": "main", "endpoint": "orders", "policy": "orders", "blocked": false, "banned_for_seconds": 60.0, "limits": []any{
			map[string]any{"limit": "hour", "capacity": 5.0, "used": 2.0, "remaining": 3.0, "reset_after_seconds": 1440.0},
			map[string]any{"limit": "100/d", "capacity": 100.0, "used": 2.0, "remaining": 98.0, "reset_after_seconds": 1728.0},
		}},
		map[string]any{"gate": "main", "endpoint": "elsewhere", "policy": "default", "blocked": false, "banned_for_seconds": 0.0, "limits": []any{
			map[string]any{"limit": "9/h", "capacity": 9.0, "used": 1.0, "remaining": 8.0, "reset_after_seconds": 400.0},
		}},
	}, got["quotas"])
	for _, bad := range []string{"", "?apikey=", "?apikey=a&apikey=b", "?key=a"} {
		require.Equal(t, "request_invalid", object(t, r.get("/v1/usage"+bad), 400)["error"], bad)
	}
}

// What operators write for a caller need not be what the gate calls it.
func TestNamesOfCallers(t *testing.T) {
	r := rigOf(t, func(r *rig) { r.Name = func(c string) string { return hex.EncodeToString([]byte(c)) } }, limited("orders", "5/h"))
	r.take(1, hex.EncodeToString([]byte("desk 7&")), "orders")
	require.Len(t, object(t, r.get("/v1/usage?apikey="+url.QueryEscape("desk 7&")), 200)["quotas"], 1)
	object(t, r.ask("POST", "/v1/block", `{"apikey":"desk 7&","who":"risk"}`, nil), 200)
	require.Equal(t, tickgate.Blocked, r.Gate.Take(hex.EncodeToString([]byte("desk 7&")), "orders", 1).Reason)
}

func TestBlock(t *testing.T) {
	r := rigOf(t, nil, limited("orders", "5/h"))
	got := object(t, r.ask("POST", "/v1/block", `{"apikey":"desk","who":" j.doe, risk "}`, nil), 200)
	gate := []any{map[string]any{"gate": "main", "key": r.Denials.Name("desk")}}
	require.Equal(t, map[string]any{"blocked": true, "everyone": false, "key": r.Denials.Name("desk"), "who": "j.doe, risk", "gates": gate}, got)
	require.Equal(t, tickgate.Blocked, r.Gate.Take("desk", "orders", 1).Reason)
	require.True(t, r.Gate.Allow("other", "orders"))
	object(t, r.ask("POST", "/v1/unblock", `{"apikey":"desk","who":"j.doe"}`, nil), 200)
	require.True(t, r.Gate.Allow("desk", "orders"))
	got = object(t, r.ask("POST", "/v1/block", `{"everyone":true,"who":"kill switch"}`, nil), 200)
	require.Equal(t, map[string]any{"blocked": true, "everyone": true, "who": "kill switch", "gates": []any{map[string]any{"gate": "main"}}}, got)
	require.False(t, r.Gate.Allow("other", "orders"))
	object(t, r.ask("POST", "/v1/unblock", `{"everyone":true,"who":"kill switch"}`, nil), 200)
	require.True(t, r.Gate.Allow("other", "orders"))
	told := r.Changes.Recent(9)
	require.Len(t, told, 4)
	require.Equal(t, "j.doe, risk", told[3].Who)
	require.Equal(t, r.Denials.Name("desk"), told[3].Key)
	require.True(t, told[1].Everyone)
}

// Everyone is blocked by those only who say so.
func TestOrdersThatAreRefused(t *testing.T) {
	r := rigOf(t, nil, limited("orders", "5/h"))
	for _, bad := range []string{
		"{", "[]", "null", `"x"`, `{"who":"w"}`, `{"apikey":"","who":"w"}`, `{"apikey":"k"}`, `{"apikey":"k","who":"  "}`, `{"apikey":"k","everyone":true,"who":"w"}`,
		`{"everyone":false,"who":"w"}`, `{"apikey":"k","who":"w"}{}`, `{"apikey":"k","who":"w","more":1}`, `{"apikey":7,"who":"w"}`,
		`{"apikey":"a","apikey":"b","who":"w"}`, `{"apikey":"k","who":"a","who":"b"}`, `{"apikey":"k","everyone":false,"everyone":true,"who":"w"}`,
		`{"apikey":"a","APIKEY":"b","who":"w"}`, `{"everyone":true,"Who":"w"}`,
		`{"apikey":"k","who":"a\nb"}`, `{"apikey":"k","who":"` + strings.Repeat("w", 201) + `"}`,
		`{"apikey":"` + strings.Repeat("k", 257) + `","who":"w"}`, `{"apikey":"` + strings.Repeat("k", 9000) + `","who":"w"}`,
		`{"apikey":"k","who":"` + strings.Repeat("w", 20_000) + `"}`,
	} {
		w := r.ask("POST", "/v1/block", bad, nil)
		require.Equal(t, "request_invalid", object(t, w, 400)["error"], bad)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		w := r.ask("POST", "/v1/block", `{"everyone":true,"who":"evil"}`, func(q *http.Request) { q.Header.Set("Content-Type", kind) })
		require.Equal(t, "content_type", object(t, w, 415)["error"], kind)
	}
	require.True(t, r.Gate.Allow("k", "orders"))
	require.Empty(t, r.Changes.Recent(9))
}
