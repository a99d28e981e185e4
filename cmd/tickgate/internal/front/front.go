// Package front puts limits and safe retries in front of an API: the layers of a
// gateway, from the log to the upstream.
package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/httplimit"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/caller"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/proxy"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/route"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/visit"
)

// Config says what is in front of what.
type Config struct {
	// Policies are the limits; their endpoints are patterns, as route.New has them.
	Policies policy.Set
	MaxKeys  int // pairs of caller and endpoint, as tickgate.Config has it

	// Sources are where keys are read from, and Accepted those that are let in; nil
	// takes any as it is. OnMissing says what happens without a key.
	Sources   []caller.Source
	Accepted  caller.Accepted
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
}

// Front is an http.Handler. Make one with [New].
type Front struct {
	http.Handler
	store *quota // nil if retries are handed on
}

// New makes a front. It reports every fault of the policies and of the numbers.
func New(cfg Config) (*Front, error) {
	table, tableErr := route.New(cfg.Policies)
	gate, gateErr := tickgate.New(tickgate.Config{Policies: cfg.Policies, MaxKeys: cfg.MaxKeys, Clock: cfg.Clock})
	f := &Front{}
	var storeErr error
	if cfg.Once != nil {
		f.store, storeErr = newStore(&cfg)
	}
	if err := errors.Join(tableErr, gateErr, storeErr); err != nil {
		return nil, err
	}
	cfg.Proxy.Fail, cfg.Proxy.Drop = fail, ours(cfg.Headers, cfg.Once != nil)
	limiter, err := httplimit.NewLimiter(httplimit.LimitConfig{
		Gate: gate, Key: caller.Of, OnMissing: cfg.OnMissing, Endpoint: endpoint, Headers: cfg.Headers, Deny: deny, Error: fail,
	})
	if err != nil {
		return nil, err
	}
	behind, err := f.once(&cfg, proxy.New(cfg.Proxy))
	if err != nil {
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
	f.Handler = visit.Log(cfg.Log, cfg.Now, table.Policy, name,
		plain(table, caller.Identify(cfg.Sources, fields, cfg.Accepted, fail, limiter.Wrap(behind))))
	return f, nil
}

var errTarget = errors.New("front: the method or the path of the request can be read in more than one way")

// plain refuses requests whose policy depends on how their path is read: an upstream may
// read another one.
func plain(table *route.Table, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if table.Plain(r) {
			next.ServeHTTP(w, r)
			return
		}
		fail(w, r, &httplimit.Error{
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

// fail notes the code of an answer that is not the upstream's.
func fail(w http.ResponseWriter, r *http.Request, e *httplimit.Error) {
	visit.Of(r).Error = e.Code
	httplimit.WriteError(w, r, e)
}

// deny notes what denied a request.
func deny(w http.ResponseWriter, r *http.Request, d *httplimit.Denial) {
	v := visit.Of(r)
	if v.Limit = d.Decision.Limit; v.Limit == "" {
		v.Limit = d.Decision.Reason.String() // of a ban or a block
	}
	httplimit.WriteDenial(w, r, d)
}

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
