package admin

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/changes"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/denials"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/history"
	"github.com/tickgate/tickgate/policy"
)

// rig is an admin port in front of a gate whose time stands still.
type rig struct {
	Config
	clock   *clock.Manual
	handler http.Handler

	mu sync.Mutex
	at time.Time
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = r.at.Add(d)
	r.clock.Advance(d)
}

func limited(endpoint string, limits ...string) policy.Policy {
	p := policy.Policy{Endpoint: endpoint}
	for _, text := range limits {
		l, err := policy.ParseLimit(text)
		if err != nil {
			panic(err)
		}
		p.Limits = append(p.Limits, l)
	}
	return p
}

func rigOf(t *testing.T, change func(*rig), set ...policy.Policy) *rig {
	t.Helper()
	r := &rig{clock: clock.NewManual(0), at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var err error
	r.Denials, err = denials.New(denials.Config{})
	require.NoError(t, err)
	r.Log = slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil))
	r.Changes = changes.New(r.Log, r.Denials.Name)
	r.Gate, err = tickgate.New(tickgate.Config{
		Policies: set, MaxKeys: 1000, Clock: r.clock, Wall: clock.NewManualWall(time.Hour), Audit: r.Changes.Of(""),
	})
	require.NoError(t, err)
	r.Ready, r.Now, r.PolicyVersion = &Ready{}, r.now, func() string { return "7" }
	r.History = history.New(r.Gate.Stats, r.now)
	if change != nil {
		change(r)
	}
	r.handler, err = New(r.Config)
	require.NoError(t, err)
	return r
}

// take asks the gate, and remembers a denial as a handler does.
func (r *rig) take(times int, apikey, endpoint string) {
	for range times {
		d := r.Gate.Take(apikey, endpoint, 1)
		if !d.Allowed {
			r.Denials.Add(&denials.Denial{
				At: r.now(), APIKey: apikey, Endpoint: endpoint, Limit: d.Limit, Reason: d.Reason,
				Cost: 1, RetryAfter: d.RetryAfter, Version: r.PolicyVersion(),
			})
		}
	}
}

// ask sends a request as curl on this machine does, unless change says otherwise.
func (r *rig) ask(method, target, body string, change func(*http.Request)) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, target, strings.NewReader(body))
	q.Host = "localhost:9090"
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(q)
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	return w
}

func (r *rig) get(target string) *httptest.ResponseRecorder { return r.ask("GET", target, "", nil) }

// object reads a JSON answer of a status.
func object(t *testing.T, w *httptest.ResponseRecorder, status int) map[string]any {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body.String())
	var out map[string]any
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &out), w.Body.String())
	return out
}
