// Package front puts limits and safe retries in front of an API: the layers of a
// gateway, from the log to the upstream.
package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/idem"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/profile"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/proxy"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/route"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// Config says what is in front of what.
type Config struct {
	// Gate decides. Its policies' endpoints are patterns, as route.New has them; where
	// they change, Route must be told. Callers go by caller.Name of their keys. nil: one
	// is made of Policies and MaxKeys.
	Gate     *tickgate.Gate
	Policies policy.Set
	MaxKeys  int // pairs of caller and endpoint, as tickgate.Config has it

	// Ask decides, as redisync.Sync.Take does, what the gate answers with Unsettled, at
	// endpoints that are Strict. Both nil: that is a denial.
	Strict func(endpoint string) bool
	Ask    func(ctx context.Context, apikey, endpoint string, n int64) (tickgate.Decision, error)

	// Denied is told of every denial by the gate. nil: nobody is.
	Denied func(apikey, endpoint string, n int64, d *tickgate.Decision)

	// Sources are where keys are read from, and Accepted those that are let in; nil
	// takes any as it is. OnMissing says what happens without a key.
	Sources   []caller.Source
	Accepted  *caller.Keys
	OnMissing httplimit.MissingKey

	Headers httplimit.HeaderMode

	// LogCallers puts a short name of the caller into each line of the log, as
	// visit.Names makes it.
	LogCallers bool

	// Once says how retries are made safe. nil: they are handed on.
	Once *Once

	// Proxy says what is behind. Its Fail is set here.
	Proxy proxy.Config

	Clock clock.Clock      // nil: clock.Default()
	Now   func() time.Time // for how long requests took
	Log   *slog.Logger
}

// Once says how retries are made safe, as httplimit.IdempotencyConfig and idem.Config
// have it.
type Once struct {
	Field      string
	Missing    httplimit.MissingID
	TTL        time.Duration
	MaxRecords int
	MaxBytes   int64

	// PerCaller is the most results of one caller that are kept at one time, 2 or more.
	// 0: a tenth of MaxRecords, and at least 2.
	PerCaller int

	MaxResult int      // bytes of one result
	Headers   []string // kept beside httplimit.DefaultHeaders

	// Backend keeps the results, as redisync.Idem does for several processes. nil: this
	// one's memory. MaxBytes is of that memory alone.
	Backend idem.Backend
}

// Front is an http.Handler. Make one with [New].
type Front struct {
	http.Handler
	cfg    Config
	table  atomic.Pointer[route.Table] // written by Route, read by each request
	store  *quota                      // nil if retries are handed on
	behind http.Handler                // what the limiter lets pass
}

// New makes a front. It reports every fault of the policies and of the numbers.
func New(cfg Config) (*Front, error) {
	var gateErr, storeErr error
	if cfg.Gate == nil {
		cfg.Gate, gateErr = tickgate.New(tickgate.Config{Policies: cfg.Policies, MaxKeys: cfg.MaxKeys, Clock: cfg.Clock})
	} else {
		cfg.Policies = cfg.Gate.Policies()
	}
	f := &Front{cfg: cfg}
	tableErr := f.Route(cfg.Policies)
	if cfg.Once != nil {
		f.store, storeErr = newStore(&cfg)
	}
	if err := errors.Join(tableErr, gateErr, storeErr); err != nil {
		return nil, err
	}
	cfg.Proxy.Fail, cfg.Proxy.Drop = f.fail, ours(cfg.Headers, cfg.Once != nil)
	limiter, err := httplimit.NewLimiter(httplimit.LimitConfig{
		Gate: cfg.Gate, Key: caller.Of, OnMissing: cfg.OnMissing, Endpoint: endpoint, Headers: cfg.Headers, Deny: f.deny, Error: f.fail,
	})
	if err != nil {
		return nil, err
	}
	if f.behind, err = f.once(&cfg, proxy.New(cfg.Proxy)); err != nil {
		return nil, err
	}
	var name func(string) string
	if cfg.LogCallers {
		name = visit.Names()
	}
	var fields []string
	if cfg.Once != nil {
		fields = []string{"Idempotency-Key"}
	}
	policyOf := func(r *http.Request) string { return f.table.Load().Policy(r) }
	f.Handler = visit.Log(cfg.Log, cfg.Now, policyOf, name, profile.Wrap("proxy", endpoint,
		f.plain(caller.Identify(cfg.Sources, fields, cfg.Accepted, f.fail, limiter.Wrap(f.behind)))))
	return f, nil
}

// Route has requests that come from now on go by the endpoints of a set, which is the
// gate's. On a fault they go on by those of before.
func (f *Front) Route(set policy.Set) error {
	table, err := route.New(set)
	if err == nil {
		f.table.Store(table)
	}
	return err
}

// Follow is Route for who cannot do anything about a fault: the log tells.
func (f *Front) Follow(set policy.Set) {
	if err := f.Route(set); err != nil {
		f.cfg.Log.Error("requests go by the endpoints of before", "error", err)
	}
}

// Store returns the counts of the store of results; false without one.
func (f *Front) Store() (idem.StoreStats, bool) {
	if f.store == nil {
		return idem.StoreStats{}, false
	}
	return f.store.Stats(), true
}

var errTarget = errors.New("front: the method or the path of the request can be read in more than one way")

// plain refuses requests whose policy depends on how their path is read: an upstream may
// read another one.
func (f *Front) plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.table.Load().Plain(r) {
			next.ServeHTTP(w, r)
			return
		}
		f.fail(w, r, &httplimit.Error{
			Status: http.StatusBadRequest, Code: "path_invalid", Err: errTarget,
			Detail: "The method must be in capitals, and the path must have no empty segment, none that is . or .., " +
				"no control characters, and no encoded slash or parameter that makes it another one.",
		})
	})
}

// ours reports which headers are written here: the upstream's of the same names would
// contradict them, or make them unreadable.
func ours(mode httplimit.HeaderMode, once bool) func(name string) bool {
	ietf := mode == httplimit.IETF || mode == httplimit.Both
	legacy := mode == httplimit.Legacy || mode == httplimit.Both
	return func(name string) bool {
		switch {
		case strings.HasPrefix(name, "Ratelimit"):
			return ietf
		case strings.HasPrefix(name, "X-Ratelimit"):
			return legacy
		}
		return once && name == "Idempotent-Replayed"
	}
}

// endpoint is found once for each request, when its visit begins.
func endpoint(r *http.Request) string { return visit.Of(r).Endpoint }

// sweepEvery is how often results that have expired are dropped while nobody asks.
const sweepEvery = time.Minute

// Run drops what has expired, now and then, until ctx is done.
func (f *Front) Run(ctx context.Context) {
	if f.store == nil {
		return
	}
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-sweep.C:
			f.store.Sweep()
		case <-ctx.Done():
			return
		}
	}
}
