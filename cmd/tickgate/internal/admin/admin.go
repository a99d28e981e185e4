// Package admin is the port for operators: metrics, health, profiles, the quotas of a
// key, blocks, and a page to look at. It is for loopback or a network that only
// operators reach: whoever reaches it may block everyone.
package admin

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/promlimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/changes"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/denials"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/history"
	"github.com/tickgate/tickgate/idem"
)

// Config says what is shown. Those above the first blank line are required, the others
// are left out where nil.
type Config struct {
	Gate    *tickgate.Gate
	Denials *denials.Log
	History *history.History // somebody must run it
	Changes *changes.Log     // what the gate's Audit tells
	Ready   *Ready
	Log     *slog.Logger

	// GateName is what answers call Gate, and what Denials and Changes call it. "": main.
	GateName string

	// Beside are more gates of the process. A block, and the question what a caller has
	// used, is of all of them, and the page shows all.
	Beside []Beside

	// Name turns what an operator writes for a caller into the apikey that Gate knows.
	// nil: it is the same, as it is for the gates beside.
	Name func(caller string) string

	// AllowHosts are names, without a port, under which the port may be asked beside
	// those of loopback and the address that the connection was made to.
	AllowHosts []string

	Version       string        // of the program
	PolicyVersion func() string // of the policies in force

	Sampler     *promlimit.Sampler
	Idempotency func() idem.StoreStats
	Sources     func() []Source
	Elsewhere   []string // policies whose budgets Redis has, so that no gate here knows what is used of them
	Sync        func() promlimit.Sync
	Collectors  []prometheus.Collector // more for /metrics

	Table func() Table
	Pages func() Pages
	Clock func() clock.Source // nil: clock.Describe

	Now func() time.Time // nil: time.Now
}

// Beside is a gate beside the one of a Config.
type Beside struct {
	Name string
	Gate *tickgate.Gate
}

// Source is a source of policies, as PostgreSQL or a file.
type Source struct {
	Name        string
	Version     string // of the last good set; "" before there was one
	Policies    int    // in it
	Connection  string // "listening", "polling", "not connected"; "" where there is none to speak of
	Applied     uint64 // sets that came into force
	Refused     uint64 // sets that had a fault, and attempts that did not get one
	LastSuccess time.Time
	LastError   error // why the last reading was no good; nil if it was good
}

// Table is where a gate's keys are.
type Table struct {
	Slots   int   `json:"slots"`  // in all shards
	Shards  []int `json:"shards"` // keys in each
	Bytes   int64 `json:"bytes"`
	OffHeap bool  `json:"off_heap"`
	Huge    bool  `json:"huge"` // the kernel took the advice to use huge pages
}

// Pages are the memory of this process, as far as the system tells.
type Pages struct {
	Setting   string `json:"setting"`   // when the kernel gives huge pages: always, madvise or never
	Anonymous int64  `json:"anonymous"` // bytes in use
	Huge      int64  `json:"huge"`      // of them on huge pages
}

// admin is what the handlers share.
type admin struct {
	cfg     Config
	begun   time.Time
	gates   []gate   // that of the Config first
	latency *latency // nil without a sampler
	use     *utilisation
}

// New makes the handler. It reports every fault of the configuration at once. Requests
// under other names, and what other sites' pages ask for, are answered with 403.
func New(cfg Config) (http.Handler, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	a := &admin{cfg: cfg, begun: cfg.Now(), gates: cfg.gates()}
	a.use = newUtilisation(a.gates, cfg.Now)
	metrics, err := a.metrics()
	if err != nil {
		return nil, err
	}
	if a.latency, err = newLatency(cfg.Gate, cfg.Sampler); err != nil {
		return nil, err
	}
	page, err := newPage()
	if err != nil {
		return nil, err
	}
	guarded, err := newGuard(cfg.AllowHosts)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler(pagePath, http.StatusFound))
	mux.Handle("GET "+pagePath, page)
	mux.HandleFunc("GET "+pagePath+"/data", a.data)
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", healthy)
	mux.HandleFunc("GET /readyz", cfg.Ready.serve)
	mux.HandleFunc("GET /v1/usage", a.usage)
	mux.HandleFunc("POST /v1/block", a.block(true))
	mux.HandleFunc("POST /v1/unblock", a.block(false))
	// Not cmdline: the command line may hold the password of a database.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return guarded.wrap(mux), nil
}

// check completes a configuration.
func (c *Config) check() error {
	var faults []error
	required := func(field string, missing bool) {
		if missing {
			faults = append(faults, &tickgate.ConfigError{Field: field, Value: "nil", Reason: "is required"})
		}
	}
	required("Gate", c.Gate == nil)
	required("Denials", c.Denials == nil)
	required("History", c.History == nil)
	required("Changes", c.Changes == nil)
	required("Ready", c.Ready == nil)
	required("Log", c.Log == nil)
	if c.GateName == "" {
		c.GateName = "main"
	}
	if c.Name == nil {
		c.Name = func(caller string) string { return caller }
	}
	if c.PolicyVersion == nil {
		c.PolicyVersion = func() string { return "" }
	}
	if c.Clock == nil {
		c.Clock = clock.Describe
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return errors.Join(faults...)
}
