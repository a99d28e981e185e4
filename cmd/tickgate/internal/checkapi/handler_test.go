package checkapi_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/checkapi"
	"github.com/tickgate/tickgate/policy"
)

type rig struct {
	*httptest.Server
	clock  *clock.Manual
	gate   *tickgate.Gate
	denied []string
}

func serve(t testing.TB) *rig {
	t.Helper()
	l, err := policy.ParseLimit("10/s burst=3 name=rate")
	require.NoError(t, err)
	r := &rig{clock: clock.NewManual(0)}
	r.gate, err = tickgate.New(tickgate.Config{Policies: policy.Set{
		{Endpoint: "orders", Limits: []policy.Limit{l}},
		{Endpoint: "free", Limits: []policy.Limit{{Window: policy.Unlimited}}},
	}, Clock: r.clock})
	require.NoError(t, err)
	var mu sync.Mutex
	r.Server = httptest.NewServer(checkapi.New(checkapi.Config{
		Gate: r.gate, Clock: r.clock,
		Denied: func(apikey, endpoint string, n int64, d *tickgate.Decision) {
			mu.Lock()
			defer mu.Unlock()
			r.denied = append(r.denied, fmt.Sprint(apikey, " ", endpoint, " ", n, " ", d.Reason))
		},
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *rig) post(t testing.TB, contentType, text string) (int, string) {
	t.Helper()
	res, err := r.Client().Post(r.URL+"/v1/take", contentType, strings.NewReader(text))
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.True(t, json.Valid(b), "%s", b)
	return res.StatusCode, string(b)
}

func TestTake(t *testing.T) {
	r := serve(t)
	for _, want := range []string{
		`{"allowed":true,"reason":"ok","limit":"rate","remaining":2,"reset_after_ns":100000000}`,
		`{"allowed":true,"reason":"ok","limit":"rate","remaining":1,"reset_after_ns":200000000}`,
		`{"allowed":true,"reason":"ok","limit":"rate","remaining":0,"reset_after_ns":300000000}`,
		`{"allowed":false,"reason":"limited","limit":"rate","remaining":0,"retry_after_ns":100000000,"reset_after_ns":300000000}`,
	} {
		status, text := r.post(t, "application/json", `{"apikey":"k","endpoint":"orders"}`)
		require.Equal(t, 200, status)
		require.Equal(t, want+"\n", text)
	}
	_, text := r.post(t, "application/json; charset=utf-8", `{"apikey":"k","endpoint":"orders","n":4}`)
	require.Equal(t, `{"allowed":false,"reason":"too costly","limit":"rate","remaining":0,"never":true,"reset_after_ns":300000000}`+"\n", text)
	_, text = r.post(t, "application/json", `{"apikey":"k","endpoint":"free","n":1000000}`)
	require.Equal(t, `{"allowed":true,"reason":"ok"}`+"\n", text)
	_, text = r.post(t, "application/json", `{"apikey":"k","endpoint":"nowhere"}`)
	require.Equal(t, `{"allowed":false,"reason":"no policy","remaining":0,"never":true}`+"\n", text)
	_, text = r.post(t, "application/json", `{"apikey":"k","endpoint":"orders","n":0}`)
	require.Contains(t, text, `"allowed":true`, "a look")
	require.Equal(t, []string{"k orders 1 limited", "k orders 4 too costly", "k nowhere 1 no policy"}, r.denied)
	r.clock.Advance(100 * time.Millisecond)
	_, text = r.post(t, "application/json", `{"apikey":"k","endpoint":"orders","n":1}`)
	require.Contains(t, text, `"allowed":true`, "retry_after_ns is right")
}

func TestTakeMany(t *testing.T) {
	r := serve(t)
	status, text := r.post(t, "application/json",
		`{"requests":[{"apikey":"a","endpoint":"orders","n":3},{"apikey":"a","endpoint":"orders"},{"apikey":"b","endpoint":"orders"},{"apikey":"","endpoint":"orders"},{"apikey":"b","endpoint":"orders","n":-1}]}`)
	require.Equal(t, 200, status)
	var got struct {
		Decisions []struct {
			Allowed bool
			Reason  string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	var all []string
	for _, d := range got.Decisions {
		all = append(all, fmt.Sprint(d.Allowed, " ", d.Reason))
	}
	require.Equal(t, []string{"true ok", "false limited", "true ok", "false bad request", "false bad request"}, all)
	require.Len(t, r.denied, 3)
}

// TestNamesAndAsking: the gate knows callers by other names, and what it cannot decide
// is asked for.
func TestNamesAndAsking(t *testing.T) {
	r := serve(t)
	var asked []string
	l, err := r.gate.Share([]tickgate.Budget{{Endpoint: "orders", Mode: tickgate.RemoteMode}})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	h := checkapi.New(checkapi.Config{
		Gate: r.gate, Clock: r.clock, Name: func(apikey string) string { return "<" + apikey + ">" },
		Strict: func(endpoint string) bool { return endpoint == "orders" },
		Ask: func(apikey, endpoint string, n int64) tickgate.Decision {
			asked = append(asked, fmt.Sprint(apikey, " ", endpoint, " ", n))
			return tickgate.Decision{Allowed: n == 2}
		},
	})
	q := httptest.NewRequest("POST", "/v1/take", strings.NewReader(
		`{"requests":[{"apikey":"a","endpoint":"orders","n":2},{"apikey":"b","endpoint":"free"},{"apikey":"c","endpoint":"orders"}]}`))
	q.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	require.Equal(t, 2, strings.Count(w.Body.String(), `"allowed":true`), w.Body)
	require.Equal(t, []string{"<a> orders 2", "<c> orders 1"}, asked)
}

// Rooms are used again: nothing of one request is in another.
func TestRequestsDoNotMeet(t *testing.T) {
	r := serve(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				key := fmt.Sprintf("key-%d-%d", i, j)
				n := 1 + j%3
				_, text := r.post(t, "application/json", fmt.Sprintf(`{"apikey":%q,"endpoint":"orders","n":%d}`, key, n))
				require.Contains(t, text, fmt.Sprintf(`"remaining":%d`, 3-n))
				_, text = r.post(t, "application/json", fmt.Sprintf(`{"requests":[{"apikey":%q,"endpoint":"orders","n":%d}]}`, "many"+key, n))
				require.Contains(t, text, fmt.Sprintf(`"remaining":%d`, 3-n))
				status, _ := r.post(t, "application/json", `{"apikey":"x"}`)
				require.Equal(t, 400, status)
			}
		})
	}
	wg.Wait()
	require.Empty(t, r.denied)
}

func TestBadRequests(t *testing.T) {
	r := serve(t)
	many := `{"requests":[` + strings.Repeat(`{"apikey":"a","endpoint":"orders"},`, checkapi.MaxRequests) + `{"apikey":"a","endpoint":"orders"}]}`
	for _, c := range []struct {
		contentType, text string
		status            int
		code              string
	}{
		{"text/plain", `{"apikey":"k","endpoint":"orders"}`, 415, "not_json"},
		{"", `{"apikey":"k","endpoint":"orders"}`, 415, "not_json"},
		{"application/json", ``, 400, "body_invalid"},
		{"application/json", `{"apikey":"k"}`, 400, "body_invalid"},
		{"application/json", `{"requests":[]}`, 400, "body_invalid"},
		{"application/json", `{"apikey":"k","endpoint":"orders","cost":1}`, 400, "body_invalid"},
		{"application/json", `{"apikey":"k","apikey":"j","endpoint":"orders"}`, 400, "body_invalid"},
		{"application/json", `{"apikey":"k","endpoint":"orders","n":1.5}`, 400, "body_invalid"},
		{"application/json", `{"apikey":"k","endpoint":"orders","n":99999999999999999999}`, 400, "body_invalid"},
		{"application/json", `{"apikey":"k","endpoint":"orders"} {}`, 400, "body_invalid"},
		{"application/json", "{\"apikey\":\"\xff\",\"endpoint\":\"orders\"}", 400, "body_invalid"},
		{"application/json", `{"apikey":"k","endpoint":"orders","requests":[{"apikey":"k","endpoint":"orders"}]}`, 400, "body_invalid"},
		{"application/json", strings.Repeat("[", 100_000), 400, "body_invalid"},
		{"application/json", `{"apikey":"` + strings.Repeat("k", checkapi.MaxBody) + `"}`, 413, "body_too_large"},
		{"application/json", many, 413, "too_many"},
	} {
		status, text := r.post(t, c.contentType, c.text)
		require.Equal(t, c.status, status, "%.80s", c.text)
		require.Contains(t, text, `"error":"`+c.code+`"`, "%.80s", c.text)
	}
	require.Zero(t, r.gate.Stats().Size, "nothing was asked of the gate")
	status, text := r.post(t, "application/json", `{"apikey":"`+strings.Repeat("k", 300)+`","endpoint":"orders"}`)
	require.Equal(t, 200, status)
	require.Contains(t, text, `"reason":"bad request"`)
	for _, m := range []string{"GET", "PUT", "OPTIONS"} {
		q, err := http.NewRequest(m, r.URL+"/v1/take", nil)
		require.NoError(t, err)
		res, err := r.Client().Do(q)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 405, res.StatusCode)
	}
}

// BenchmarkTake is the handler alone.
func BenchmarkTake(b *testing.B) {
	r := serve(b)
	h := checkapi.New(checkapi.Config{Gate: r.gate, Clock: r.clock})
	var many []string
	for i := range 64 {
		many = append(many, fmt.Sprintf(`{"apikey":"account-%06d","endpoint":"free","n":1}`, i))
	}
	for name, text := range map[string]string{"one": many[0], "64": `{"requests":[` + strings.Join(many, ",") + `]}`} {
		b.Run("requests="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := httptest.NewRequest("POST", "/v1/take", strings.NewReader(text))
				q.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, q)
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

// A body that is compressed is refused as such, and not as one that is no JSON.
func TestCompressedBodies(t *testing.T) {
	r := serve(t)
	for coding, status := range map[string]int{"gzip": 415, "GZIP": 415, "identity, br": 415, "identity": 200, " Identity": 200, "": 200} {
		q, err := http.NewRequest("POST", r.URL+"/v1/take", strings.NewReader(`{"apikey":"k","endpoint":"free"}`))
		require.NoError(t, err)
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Content-Encoding", coding)
		res, err := r.Client().Do(q)
		require.NoError(t, err)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode, "%q: %s", coding, text)
		if status == 415 {
			require.Contains(t, string(text), `"content_encoding"`)
			require.Equal(t, "identity", res.Header.Get("Accept-Encoding"))
		}
	}
}
