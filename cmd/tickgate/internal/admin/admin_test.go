package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate/adapter/promlimit"
)

func TestConfigFaults(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"Gate", "Denials", "History", "Changes", "Ready", "Log"} {
		require.ErrorContains(t, err, field)
	}
	r := rigOf(t, nil, limited("a", "5/h"))
	for _, bad := range []string{"", "a b", "host:80", "http://host", "[::1]"} {
		r.AllowHosts = []string{"ok.example", bad}
		_, err := New(r.Config)
		require.ErrorContains(t, err, "without a port", bad)
		require.NotContains(t, err.Error(), "ok.example")
	}
	r.AllowHosts, r.Collectors = nil, []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "tickgate_keys"})}
	_, err = New(r.Config)
	require.Error(t, err, "a series that is there already")
}

func TestMetrics(t *testing.T) {
	sampler, err := promlimit.NewSampler(promlimit.SamplerConfig{Every: 1})
	require.NoError(t, err)
	r := rigOf(t, func(r *rig) {
		r.Sampler = sampler
		r.Sync = func() promlimit.Sync { return promlimit.Sync{Nodes: 3} }
		r.Sources = func() []Source { return []Source{{Name: "file", Applied: 2}} }
		r.Collectors = []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "of_the_program"})}
	}, limited("a", "5/h"))
	sampler.Take(r.Gate, "k", "a", 1)
	text := r.get("/metrics").Body.String()
	for _, series := range []string{
		`tickgate_requests_total{decision="allowed",policy="a"} 1`, "tickgate_check_duration_seconds_count 1", "tickgate_sync_nodes 3",
		`tickgate_config_reloads_total{result="applied",source="file"} 2`, "of_the_program 0", "go_goroutines", "process_start_time_seconds",
	} {
		require.Contains(t, text, series)
	}
	require.NotContains(t, text, "# {", "no exemplars")
	require.NotContains(t, text, `"k"`)
	w := r.ask("GET", "/metrics", "", func(q *http.Request) {
		q.Header.Set("Accept", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	})
	require.Contains(t, w.Header().Get("Content-Type"), "application/vnd.google.protobuf", "native histograms")
	require.Equal(t, http.StatusMethodNotAllowed, r.ask("POST", "/metrics", "", nil).Code)
}

func TestHealth(t *testing.T) {
	r := rigOf(t, nil, limited("a", "5/h"))
	require.Equal(t, map[string]any{"status": "ok"}, object(t, r.get("/healthz"), 200))
	require.Equal(t, map[string]any{"ready": true, "reasons": []any{}}, object(t, r.get("/readyz"), 200))
	r.Ready.Hold("process", "shutting down")
	r.Ready.Hold("data port", "not serving yet")
	require.Equal(t, map[string]any{"ready": false, "reasons": []any{
		map[string]any{"part": "data port", "reason": "not serving yet"}, map[string]any{"part": "process", "reason": "shutting down"},
	}}, object(t, r.get("/readyz"), 503))
	r.Ready.Release("data port")
	r.Ready.Release("process")
	object(t, r.get("/readyz"), 200)
	require.Equal(t, 200, r.ask("HEAD", "/healthz", "", nil).Code)
}

func TestProfiles(t *testing.T) {
	r := rigOf(t, nil, limited("a", "5/h"))
	require.Contains(t, r.get("/debug/pprof/").Body.String(), "goroutine")
	require.Contains(t, r.get("/debug/pprof/goroutine?debug=1").Body.String(), "goroutine profile")
	require.Equal(t, 404, r.get("/debug/pprof/cmdline").Code, "it may hold a password")
	require.Equal(t, 405, r.ask("POST", "/debug/pprof/profile", "", nil).Code)
}

func TestOtherPaths(t *testing.T) {
	r := rigOf(t, nil, limited("a", "5/h"))
	require.Equal(t, 404, r.get("/other").Code)
	w := r.get("/")
	require.Equal(t, 302, w.Code)
	require.Equal(t, "/debug/tickgate", w.Header().Get("Location"))
	require.Equal(t, 405, r.get("/v1/block").Code)
}

// A page needs nothing but itself, and its policy lets nothing else run.
func TestPageIsSelfContained(t *testing.T) {
	r := rigOf(t, nil, limited("a", "5/h"))
	w := r.get("/debug/tickgate")
	require.Equal(t, 200, w.Code)
	text, csp := w.Body.String(), w.Header().Get("Content-Security-Policy")
	require.NotContains(t, text, "/*s", "every part is in its place")
	for _, outside := range []string{"src=", "http:", "https:", "@import", "url(", "innerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		require.NotContains(t, strings.ReplaceAll(text, "http://www.w3.org/2000/svg", ""), outside)
	}
	require.Contains(t, csp, "default-src 'none'")
	require.Contains(t, csp, "script-src 'sha256-")
	require.NotContains(t, csp, "unsafe")
	require.NotContains(t, csp, "http")
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
}

func TestQuantiles(t *testing.T) {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{NativeHistogramBucketFactor: 1.1, NativeHistogramZeroThreshold: 1e-9})
	read := func() *dto.Histogram {
		var out dto.Metric
		require.NoError(t, h.Write(&out))
		return out.Histogram
	}
	require.True(t, quantiles(read(), .5)[0] != quantiles(read(), .5)[0], "NaN: nothing was seen")
	for i := range 1000 {
		h.Observe(float64(i+1) * 1e-6)
	}
	for q, want := range map[float64]float64{.5: 500e-6, .9: 900e-6, .99: 990e-6, 1: 1000e-6} {
		require.InEpsilon(t, want, quantiles(read(), q)[0], 0.1, q)
	}
	for range 9000 {
		h.Observe(0)
	}
	require.Equal(t, 1e-9, quantiles(read(), .5)[0], "as good as nothing")
	require.InEpsilon(t, 500e-6, quantiles(read(), .95)[0], 0.1)
}
