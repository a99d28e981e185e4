package memory

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"
)

// Service is the API. Make one with [New]; it is an http.Handler. Any number of
// goroutines may call its methods at once.
type Service struct {
	handler   http.Handler
	endpoints []string
	gate      *tickgate.Gate
	store     *idem.Store
	queue     *queue
	shelf     *shelf
	hold      func(context.Context)
}

// New makes a service. It reports every fault of the configuration and of the
// environment at once.
func New(cfg Config) (*Service, error) {
	set, env, err := cfg.check()
	if err != nil {
		return nil, err
	}
	gate, gateErr := tickgate.New(tickgate.Config{
		Policies: set, MaxKeys: env.CacheSize, Clock: cfg.Clock, Wall: cfg.Wall, Audit: cfg.Audit,
	})
	store, storeErr := idem.NewStore(idem.Config{Clock: cfg.Clock, TTL: env.IdempotencyTTL, MaxRecords: cfg.MaxRecords})
	if err := errors.Join(gateErr, storeErr); err != nil {
		return nil, err
	}
	s := &Service{
		gate: gate, store: store,
		queue: newQueue(cfg.MaxQueue), shelf: newShelf(cfg.MaxMemories), hold: cfg.Hold,
	}
	mux := http.NewServeMux()
	endpoint := httplimit.MuxEndpoint(mux)
	limiter, limiterErr := httplimit.NewLimiter(httplimit.LimitConfig{
		Gate: gate, Key: APIKey, OnMissing: httplimit.FailClosed, Endpoint: endpoint, Deny: deny(cfg.Denied),
	})
	once, onceErr := httplimit.NewIdempotency(httplimit.IdempotencyConfig{
		Store: store, Scope: APIKey, Field: "ingest_id", Missing: httplimit.HashContent, MaxBody: maxBody,
		Report: func(r *http.Request, err error) {
			cfg.Log.Error("the result of a request is not kept", "endpoint", r.Pattern, "error", err)
		},
	})
	if err := errors.Join(limiterErr, onceErr); err != nil {
		return nil, err
	}
	serve := func(endpoint string, h http.Handler) {
		mux.Handle(endpoint, h)
		s.endpoints = append(s.endpoints, endpoint)
	}
	serve(policy.MemoryIngest, once.Wrap(http.HandlerFunc(s.ingest)))
	serve(policy.MemoryQuery, http.HandlerFunc(s.query))
	serve(policy.MemorySkills, http.HandlerFunc(s.skills))
	serve(policy.MemoryProjects, http.HandlerFunc(s.projects))
	s.handler = logged(cfg.Log, cfg.Clock, endpoint, limiter.Wrap(mux))
	return s, nil
}

// deny has denied be told of a denial before it is answered.
func deny(denied func(apikey, endpoint string, d *tickgate.Decision)) httplimit.DenyHandler {
	if denied == nil {
		return nil
	}
	return func(w http.ResponseWriter, r *http.Request, d *httplimit.Denial) {
		key, _ := APIKey(r) // the limiter has read it before
		denied(key, d.Endpoint, &d.Decision)
		httplimit.WriteDenial(w, r, d)
	}
}

// ServeHTTP answers a request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Endpoints returns what is served, "GET /memory/query".
func (s *Service) Endpoints() []string { return slices.Clone(s.endpoints) }

// Policies returns the limits in force, one policy for each endpoint.
func (s *Service) Policies() policy.Set { return s.gate.Policies() }

// Gate returns the gate that decides, for who shows what it does: its keys are those that
// [APIKey] reads, its endpoints those of [Service.Endpoints].
func (s *Service) Gate() *tickgate.Gate { return s.gate }

// Results returns the counts of what retries are answered with.
func (s *Service) Results() idem.StoreStats { return s.store.Stats() }

// sweepEvery is how often what has expired is dropped while nobody asks.
const sweepEvery = time.Minute

// Run carries out the jobs that were taken, one after the other, until ctx is done;
// then those that still wait, and returns. Stop the server first: a job that is taken
// afterwards waits for the next Run.
func (s *Service) Run(ctx context.Context) {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case j := <-s.queue.jobs:
			s.shelf.put(j)
		case <-sweep.C:
			s.store.Sweep()
		case <-ctx.Done():
			s.finish()
			return
		}
	}
}

// finish carries out the jobs that wait now.
func (s *Service) finish() {
	for {
		select {
		case j := <-s.queue.jobs:
			s.shelf.put(j)
		default:
			return
		}
	}
}
