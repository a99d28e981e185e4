package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/server"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/service"
)

// serveFlags are what serve and check-config are told. Every one is also a key of the
// file --config, and a variable TICKGATE_ of the environment.
type serveFlags struct {
	Config string `group:"Configuration" placeholder:"FILE" help:"Read flags from this YAML file too, by their names, as in listen: 127.0.0.1:8080. A flag goes before its variable of the environment, TICKGATE_LISTEN, and that before the file."`

	Example  string        `group:"What to serve, at most one of" placeholder:"NAME" help:"An example of an API with limits: memory."`
	Upstream string        `group:"What to serve, at most one of" placeholder:"URL" help:"The API at this address, behind limits: http://HOST:PORT or https://HOST/PATH. Without both --listen answers POST /v1/take, for programs that ask for others."`
	Delay    time.Duration `default:"0s" placeholder:"DURATION" help:"With --example: how long an ingest takes, 0s to 30s, to see what retries get meanwhile (default ${default})."`

	Listen string `group:"Listening" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to serve on; without a host all of the machine's, with port 0 a free one; off where only --rls is to be served (default ${default})."`
	Check  string `group:"Listening" placeholder:"HOST:PORT" help:"With --upstream: answer POST /v1/take here. Who reaches it may spend every caller's limits."`
	TLS    struct {
		Cert     string `placeholder:"FILE" help:"Serve HTTPS, of TLS 1.2 or later, with this certificate and the chain behind it, PEM; on all ports but --admin."`
		Key      string `placeholder:"FILE" help:"Its private key, PEM."`
		ClientCA string `name:"client-ca" placeholder:"FILE" help:"Let in only clients with a certificate that one of these has signed, PEM."`
	} `embed:"" prefix:"tls-" group:"Listening"`
	MaxHeader       byteSize      `group:"Listening" default:"16KiB" placeholder:"SIZE" help:"Longest header of a request, 1KiB to 1MiB; a longer one is a 431 (default ${default}, and 4KiB are added)."`
	ReadTimeout     time.Duration `group:"Listening" default:"30s" placeholder:"DURATION" help:"How long a request may take to come, its body included, 1ms to 24h (default ${default})."`
	WriteTimeout    time.Duration `group:"Listening" default:"30s" placeholder:"DURATION" help:"How long a client may take for one part of an answer, 1ms to 24h (default ${default})."`
	IdleTimeout     time.Duration `group:"Listening" default:"2m" placeholder:"DURATION" help:"How long a connection may wait for its next request, 1ms to 24h (default ${default})."`
	ShutdownTimeout time.Duration `group:"Listening" default:"10s" placeholder:"DURATION" help:"How long requests may go on when told to end, 0s to 24h (default ${default})."`

	Admin struct {
		Listen     string   `name:"admin" default:"127.0.0.1:9464" placeholder:"HOST:PORT" help:"The operators' port: /debug/tickgate, /metrics, /healthz, /readyz, /v1/usage, /v1/block, /debug/pprof; off for none. Who reaches it may block everyone (default ${default})."`
		AllowHosts []string `name:"admin-allow-host" sep:"none" placeholder:"NAME" help:"A name, or an address, that it may be asked by beside localhost. Repeatable; needed where --admin is not loopback."`
		ShowKeys   bool     `name:"show-keys" help:"Show callers there by their keys, and not by hashes of them."`
	} `embed:"" group:"Operators"`

	Policies string   `group:"Limits" placeholder:"FILE" help:"Policies, as JSON or YAML; read again when the content changes. With --upstream endpoints are patterns, see below. Default, also without --postgres: 50/s for each caller and endpoint, and those of tickgate's defaults for POST /v1/take."`
	Set      []string `group:"Limits" sep:"none" placeholder:"ENDPOINT=LIMIT" help:"Replace or add one endpoint's limit, over all other sources, such as 'POST /orders=10/s burst=20'. Repeatable; several for one endpoint must all pass."`
	MaxKeys  int      `group:"Limits" default:"100000" placeholder:"N" help:"Most pairs of caller and endpoint held at one time, 1 to 1073741824; 130 bytes each (default ${default}, or RATE_LIMITER_CACHE_SIZE)."`
	Postgres struct {
		URL  string `name:"postgres" placeholder:"URL" help:"Policies in the table rate_limit_config of this database, under those of --policies; followed as it changes. See tickgate pg init."`
		Poll bool   `name:"postgres-poll" help:"Ask for changes once a second and do not listen, as behind a pooler in transaction mode; otherwise that is found out."`
	} `embed:"" group:"Limits"`

	Redis struct {
		URL      string        `name:"redis" placeholder:"URL" help:"Share budgets, and with --upstream the results for retries, with other processes through this Redis: redis://, rediss:// with TLS, valkey://, valkeys://, or unix://; off for none. Default: REDIS_URL of the environment."`
		Modes    []string      `name:"redis-mode" sep:"none" placeholder:"ENDPOINT=MODE" help:"How a policy is shared: credit, lease, strict or local. Repeatable. Default: credit where the policy has a credit, else local."`
		Away     string        `name:"redis-away" enum:"share,open,closed" default:"share" help:"What policies on credit admit while Redis is away: a share for each process, all, or nothing beyond the credit (default ${default})."`
		Nodes    int           `name:"redis-nodes" default:"1" placeholder:"N" help:"How many processes share at least, 1 to 10000 (default ${default})."`
		Deadline time.Duration `name:"redis-deadline" default:"2ms" placeholder:"DURATION" help:"How long a request of a strict policy waits for Redis, 100µs to 10s; then it is denied (default ${default})."`
		Quiet    time.Duration `name:"redis-quiet" default:"0s" placeholder:"DURATION" help:"Vouch that for so long no process has had leases under this --redis-prefix, 0s to 8760h. Without it the first one on an empty Redis grants none until those of before have ended, and from empty buckets then (default ${default})."`
		Prefix   string        `name:"redis-prefix" default:"tickgate" placeholder:"TEXT" help:"What keys in Redis begin with; processes with the same one share (default ${default})."`
	} `embed:"" group:"Several processes"`

	RLS struct {
		Listen  string   `name:"rls" placeholder:"HOST:PORT" help:"Serve Envoy's rate limit service here, over gRPC."`
		Paths   []string `name:"rls-config" sep:"none" placeholder:"PATH" help:"Its limits: a YAML file of envoyproxy/ratelimit, or a folder of such. Repeatable."`
		Headers bool     `name:"rls-headers" help:"Add RateLimit-Limit, -Remaining and -Reset to responses."`
	} `embed:"" group:"Envoy"`

	Key       []string `group:"Callers, with --upstream" sep:"none" placeholder:"SOURCE" help:"Where a caller's key is: bearer, for Authorization: Bearer KEY, or header:NAME. Repeatable: name all places where the upstream looks. Default: bearer and header:X-API-Key."`
	OnMissing string   `group:"Callers, with --upstream" enum:"deny,allow" default:"deny" help:"Requests without a key: deny answers 401, allow hands them on with no limit at all (default ${default})."`
	Keys      string   `group:"Callers, with --upstream" placeholder:"FILE" help:"Keys that are let in, one on a line; others get 401, as often as they try, so keys must be too long to guess. Without it any key is taken as it is, and it is for the upstream to check it: who makes up keys then has a new limit with each."`
	Headers   string   `group:"Callers, with --upstream" enum:"ietf,legacy,both,none" default:"ietf" help:"Headers that tell callers what is left: RateLimit (ietf), X-RateLimit-* (legacy), both or none (default ${default})."`

	Idempotency struct {
		Mode    string        `name:"idempotency" enum:"on,off" default:"on" help:"Answer retries of POST and PATCH with the first one's result (default ${default})."`
		Headers []string      `name:"idempotency-header" sep:"none" placeholder:"NAME" help:"Keep this header with a result too. Repeatable. Kept anyway: Content-*, Location, Link, Cache-Control, ETag, Last-Modified, Retry-After, Vary, Access-Control-*."`
		Field   string        `name:"idempotency-field" placeholder:"NAME" help:"Read the key from this member of a JSON body, before the header Idempotency-Key. All bodies must be JSON objects then."`
		Missing string        `name:"idempotency-missing" enum:"require,hash,pass" default:"pass" help:"Requests without such a key: require answers 400, hash takes the SHA-256 of the request, pass hands them on (default ${default})."`
		TTL     time.Duration `name:"idempotency-ttl" default:"24h" placeholder:"DURATION" help:"How long a result is kept, 1s to 8760h (default ${default}, or MEM_IDEMPOTENCY_TTL_SECS)."`
		Records int           `name:"idempotency-records" default:"100000" placeholder:"N" help:"Most results kept, 1 to 1073741824; one more is a 503 (default ${default})."`
		Each    int           `name:"idempotency-per-caller" placeholder:"N" help:"Most results kept of one caller, half of them at once, 2 to 1073741824; one more is a 429. Default: a tenth of --idempotency-records."`
		Memory  byteSize      `name:"idempotency-memory" default:"128MiB" placeholder:"SIZE" help:"Without --redis: most memory for them, 1MiB to 1TiB, of which large results take half. A result that does not fit is sent all the same, and its retry gets 409 result_not_kept (default ${default})."`
		Result  byteSize      `name:"idempotency-result" default:"1MiB" placeholder:"SIZE" help:"Longest body of a result that is kept, 1B to 1GiB; the retry of a longer one gets 409 result_not_kept (default ${default})."`
	} `embed:"" group:"Retries, with --upstream"`

	MaxBody         byteSize      `group:"Upstream" default:"1MiB" placeholder:"SIZE" help:"Longest body of a request, 1B to 1GiB; a longer one is a 413 (default ${default})."`
	UpstreamCA      string        `group:"Upstream" name:"upstream-ca" placeholder:"FILE" help:"Certificates that may have signed the upstream's, PEM. Default: the system's."`
	UpstreamTimeout time.Duration `group:"Upstream" default:"30s" placeholder:"DURATION" help:"How long the upstream may take until its answer begins, 1ms to 24h; then it is a 504 (default ${default})."`
	Upgrade         []string      `group:"Upstream" sep:"none" placeholder:"PROTOCOL" help:"Let connections be upgraded to this protocol: what is sent over one then is counted by nobody. Repeatable; none for none. Default: websocket."`
	TrustForwarded  bool          `group:"Upstream" help:"Hand on what clients say of whom and what they really ask for, and must be proxies then: Forwarded, X-Forwarded-*, X-Real-IP, X-Client-IP and the like, X-Original-*, X-Rewrite-*, X-HTTP-Method-Override. Without it these are dropped."`

	Log        string `group:"Log" enum:"text,json" default:"text" help:"Form of the log, on standard error: ${enum} (default ${default})."`
	LogCallers bool   `group:"Log" help:"With --upstream: name callers in the log by 8 digits of a hash that is keyed at random for this process. They tell callers apart, and not who they are; after a restart all have other names."`
	LogLevel   string `group:"Log" enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: ${enum}; a request is info, and a warning with status 5xx (default ${default})."`
}

type serveCmd struct {
	serveFlags
}

// garbage is what may lie in the heap before it is collected, in bytes, beside what
// lives.
const garbage = 32 << 20

// Run is called by the parser.
func (c *serveCmd) Run(ctx context.Context, w *world, parsed *kong.Context) error {
	log := c.logger(w)
	hangup, quiet := w.hangups() // before anything that takes long
	defer quiet()
	running, err := begin(ctx, c.ShutdownTimeout, func() (*service.Running, error) {
		p, err := c.plan(given(parsed), w, log, log)
		if err != nil {
			return nil, &failed{exitUsage, err}
		}
		return p.start(ctx)
	})
	if err != nil {
		return err
	}
	running.Hangup = hangup
	log.Debug("garbage collection", "percent", server.Headroom(garbage))
	return service.Run(ctx, *running)
}

// given returns the flags that are on the command line, in their order, and then those
// that are in the environment or the file of --config.
func given(parsed *kong.Context) (names []string) {
	for _, p := range parsed.Path {
		if p.Flag != nil && !slices.Contains(names, p.Flag.Name) {
			names = append(names, p.Flag.Name)
		}
	}
	return names
}

func (c *serveFlags) logger(w *world) *slog.Logger {
	level := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[c.LogLevel]
	options := &slog.HandlerOptions{Level: level}
	if c.Log == "json" {
		return slog.New(slog.NewJSONHandler(w.stderr, options))
	}
	return slog.New(slog.NewTextHandler(w.stderr, options))
}
