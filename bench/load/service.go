package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// loaded are the services that are compared, takes the servers of the check API that
// are, and kinds are all that this program can be.
var (
	loaded = []string{"bare", plain, "allow", "allow-canned", "deny", "deny-canned", "list", "list-allow", "list-deny"}
	takes  = []string{takeBare, takeTimed, take, takeMany}
	kinds  = append(loaded[:len(loaded):len(loaded)], takeBare, takeTimed, "growth")
)

// The endpoints. Only the service growth has the second.
const (
	queryPath  = "/query"
	ingestPath = "/ingest"
	query      = "GET " + queryPath
	ingest     = "POST " + ingestPath
)

// plain is the service allow without fields about limits: it sends what bare sends.
const plain = "allow-plain"

// quota is how often a caller of the service growth may ask for query. Nothing of it
// comes back during a run: one token takes three hours.
const quota = 8

// limits are what callers of a service have, by endpoint.
var limits = map[string]map[string]string{
	"allow":  {query: "1000000/s name=rate"},
	plain:    {query: "1000000/s name=rate"},
	"deny":   {query: "1/d name=day"},
	"growth": {query: "8/d name=day", ingest: "1000000/s name=rate"},
}

// How long the service growth remembers a job, and how many. At 100,000 requests a
// second, of which one in 22 is a new job, it would have 23,000 at a time.
const (
	resultTTL  = 5 * time.Second
	maxResults = 1 << 16
)

// service is what a server serves.
type service struct {
	kind string
	mux  *http.ServeMux
	gate *tickgate.Gate // nil without a limiter
	jobs *idem.Store    // nil without idempotency
}

// newService makes the service of one of kinds, for a number of callers.
func newService(kind string, callers int, now clock.Clock) (*service, error) {
	handler, kind := handlerOf(kind)
	s := &service{kind: kind, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET "+statePath, s.state)
	if kind == takeBare || kind == takeTimed {
		s.mux.HandleFunc("POST "+takePath, bareTake)
		return s, nil
	}
	answer := http.Handler(handler)
	if kind == "bare" {
		s.mux.Handle(query, answer)
		return s, nil
	}
	if of, canned := strings.CutSuffix(kind, "-canned"); canned {
		can, err := record(of, now)
		if err != nil {
			return nil, err
		}
		s.mux.Handle(query, can)
		return s, nil
	}
	limiter, err := s.limiter(callers, now)
	if err != nil {
		return nil, err
	}
	s.mux.Handle(query, limiter.Wrap(answer))
	if kind != "growth" {
		return s, nil
	}
	s.jobs, err = idem.NewStore(idem.Config{TTL: resultTTL, MaxRecords: maxResults, Clock: now})
	if err != nil {
		return nil, err
	}
	once, err := httplimit.NewIdempotency(httplimit.IdempotencyConfig{Store: s.jobs, Scope: bearer})
	if err != nil {
		return nil, err
	}
	s.mux.Handle(ingest, limiter.Wrap(once.Wrap(answer)))
	return s, nil
}

// limiter makes the gate of a service, with room for every caller, and its limiter.
func (s *service) limiter(callers int, now clock.Clock) (*httplimit.Limiter, error) {
	var set policy.Set
	for endpoint, text := range limits[s.kind] {
		l, err := policy.ParseLimit(text)
		if err != nil {
			return nil, err
		}
		set = append(set, policy.Policy{Endpoint: endpoint, Limits: []policy.Limit{l}})
	}
	var err error
	s.gate, err = tickgate.New(tickgate.Config{
		Policies: set, MaxKeys: max(2*callers, tickgate.DefaultMaxKeys), Clock: now,
	})
	if err != nil {
		return nil, err
	}
	cfg := httplimit.LimitConfig{Gate: s.gate, Key: bearer, OnMissing: httplimit.FailClosed, Headers: httplimit.IETF}
	if s.kind == plain {
		cfg.Headers = httplimit.None
	}
	return httplimit.NewLimiter(cfg)
}

// bearer takes the token for the caller. A service would look it up; that costs the
// same with a limiter and without.
func bearer(r *http.Request) (string, error) {
	h := r.Header["Authorization"] // as net/http writes it; Get would spell it out each time
	if len(h) != 1 {
		return "", httplimit.ErrKeyMissing
	}
	token, ok := strings.CutPrefix(h[0], "Bearer ")
	if !ok {
		return "", httplimit.ErrKeyMissing
	}
	return token, nil
}

// handlerOf returns the handler of a kind, and what is around it: the kind without the
// handler's name.
func handlerOf(kind string) (handler http.HandlerFunc, around string) {
	if kind == "list" {
		return list, "bare"
	}
	if rest, ok := strings.CutPrefix(kind, "list-"); ok {
		return list, rest
	}
	return small, kind
}

// found is one of what list answers.
type found struct {
	ID      string    `json:"id"`
	Project string    `json:"project"`
	Text    string    `json:"text"`
	Score   float64   `json:"score"`
	Made    time.Time `json:"made"`
}

// list is the handler of an API that has found ten things: some 1.4 KB of JSON.
func list(w http.ResponseWriter, _ *http.Request) {
	all := make([]found, 10)
	for i := range all {
		all[i] = found{ID: "job-6HU645VJF6OVJD3GDABD573CTM", Project: "home", Text: "tea at four", Score: 1 / float64(i+1), Made: time.Unix(1796000000, 0).UTC()}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"results": all, "count": len(all)}) // a client that is gone needs no answer
}

// small is the handler: a short answer, made of nothing.
func small(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"results":[],"count":0}`+"\n") // a client that is gone needs no answer
}
