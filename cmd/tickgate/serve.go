package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/tickgate/tickgate/cmd/tickgate/internal/front"
	"github.com/tickgate/tickgate/cmd/tickgate/internal/server"
)

type serveCmd struct {
	Example  string        `group:"What to serve, one of" placeholder:"NAME" help:"An example of an API with limits: memory."`
	Upstream string        `group:"What to serve, one of" placeholder:"URL" help:"The API at this address, behind limits: http://HOST:PORT or https://HOST/PATH."`
	Delay    time.Duration `default:"0s" placeholder:"DURATION" help:"With --example: how long an ingest takes, 0s to 30s, to see what retries get meanwhile (default ${default})."`

	Listen string `group:"Listening" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to serve on; without a host all of the machine's, with port 0 a free one (default ${default})."`
	TLS    struct {
		Cert     string `placeholder:"FILE" help:"Serve HTTPS, of TLS 1.2 or later, with this certificate and the chain behind it, PEM."`
		Key      string `placeholder:"FILE" help:"Its private key, PEM."`
		ClientCA string `name:"client-ca" placeholder:"FILE" help:"Let in only clients with a certificate that one of these has signed, PEM."`
	} `embed:"" prefix:"tls-" group:"Listening"`
	MaxHeader       byteSize      `group:"Listening" default:"16KiB" placeholder:"SIZE" help:"Longest header of a request, 1KiB to 1MiB; a longer one is a 431 (default ${default}, and 4KiB are added)."`
	ReadTimeout     time.Duration `group:"Listening" default:"30s" placeholder:"DURATION" help:"How long a request may take to come, its body included, 1ms to 24h (default ${default})."`
	WriteTimeout    time.Duration `group:"Listening" default:"30s" placeholder:"DURATION" help:"How long a client may take for one part of an answer, 1ms to 24h (default ${default})."`
	IdleTimeout     time.Duration `group:"Listening" default:"2m" placeholder:"DURATION" help:"How long a connection may wait for its next request, 1ms to 24h (default ${default})."`
	ShutdownTimeout time.Duration `group:"Listening" default:"10s" placeholder:"DURATION" help:"How long requests may go on when told to end, 0s to 24h (default ${default})."`

	Key       []string `group:"Callers, with --upstream" sep:"none" placeholder:"SOURCE" help:"Where a caller's key is: bearer, for Authorization: Bearer KEY, or header:NAME. Repeatable: name all places where the upstream looks. Default: bearer and header:X-API-Key."`
	OnMissing string   `group:"Callers, with --upstream" enum:"deny,allow" default:"deny" help:"Requests without a key: deny answers 401, allow hands them on with no limit at all (default ${default})."`
	Keys      string   `group:"Callers, with --upstream" placeholder:"FILE" help:"Keys that are let in, one on a line; others get 401, as often as they try, so keys must be too long to guess. Without it any key is taken as it is, and it is for the upstream to check it: who makes up keys then has a new limit with each."`

	Policies string   `group:"Limits, with --upstream" placeholder:"FILE" help:"Policies, as JSON or YAML; endpoints are patterns, see above. Default: 50/s for each caller."`
	Set      []string `group:"Limits, with --upstream" sep:"none" placeholder:"ENDPOINT=LIMIT" help:"Replace or add one endpoint's limit, such as 'POST /orders=10/s burst=20'. Repeatable; several for one endpoint must all pass."`
	MaxKeys  int      `group:"Limits, with --upstream" default:"100000" placeholder:"N" help:"Most pairs of caller and endpoint held at one time, 1 to 1073741824; 130 bytes each (default ${default})."`
	Headers  string   `group:"Limits, with --upstream" enum:"ietf,legacy,both,none" default:"ietf" help:"Headers that tell callers what is left: RateLimit (ietf), X-RateLimit-* (legacy), both or none (default ${default})."`

	Idempotency struct {
		Mode    string        `name:"idempotency" enum:"on,off" default:"on" help:"Answer retries of POST and PATCH with the first one's result (default ${default})."`
		Headers []string      `name:"idempotency-header" sep:"none" placeholder:"NAME" help:"Keep this header with a result too. Repeatable. Kept anyway: Content-*, Location, Link, Cache-Control, ETag, Last-Modified, Retry-After, Vary, Access-Control-*."`
		Field   string        `name:"idempotency-field" placeholder:"NAME" help:"Read the key from this member of a JSON body, before the header Idempotency-Key. All bodies must be JSON objects then."`
		Missing string        `name:"idempotency-missing" enum:"require,hash,pass" default:"pass" help:"Requests without such a key: require answers 400, hash takes the SHA-256 of the request, pass hands them on (default ${default})."`
		TTL     time.Duration `name:"idempotency-ttl" default:"24h" placeholder:"DURATION" help:"How long a result is kept, 1s to 8760h (default ${default})."`
		Records int           `name:"idempotency-records" default:"100000" placeholder:"N" help:"Most results kept, 1 to 1073741824; one more is a 503 (default ${default})."`
		Each    int           `name:"idempotency-per-caller" placeholder:"N" help:"Most results kept of one caller, half of them at once, 2 to 1073741824; one more is a 429. Default: a tenth of --idempotency-records."`
		Memory  byteSize      `name:"idempotency-memory" default:"128MiB" placeholder:"SIZE" help:"Most memory for them, 1MiB to 1TiB, of which large results take half. A result that does not fit is sent all the same, and its retry gets 409 result_not_kept (default ${default})."`
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

// Help is printed under the flags.
func (serveCmd) Help() string {
	return `Endpoints: a policy is for the requests that its name matches, as a pattern of Go's http.ServeMux:
"POST /orders/{id}", "GET /files/" (all below), "/v1/" (any method), "api.example.com/". Of several the
most specific one counts. What none matches has the policy "default", one limit for all of it. The host is
what the client writes into Host, and it may write any: a policy for one is no protection of another.

A path that servers read in different ways is a 400 (path_invalid): with empty segments, with . or .., also
encoded, with control characters, or of another policy once an encoded slash or ";" is read as such. But an
upstream may take other paths for the same, such as /ORDERS or /orders/: with --set default=deny what no
policy names does not pass; name all that is below "/files/" only where all of it may have that limit. Nor is
a method seen that is in a form, as _method, or a key that is in a query or a cookie: let the upstream take
none from there.

Limits:

  100/s   100/10s   10/s rolling   6000/m burst=200   unlimited   deny
  (burst is the bucket's capacity: how much passes at once)

Of a key only the SHA-256 is held, 8192 bytes long at most, and no log has it, nor anything else that a
client wrote. A request with two keys, or with a header that another server may take for one (X_API_Key, or
Connection: X-API-Key), is a 400 (caller_ambiguous). X-Forwarded-For, -Host and -Proto are set for the
upstream, and trailers of requests are dropped. Headers of the upstream about limits are dropped where
--headers writes the same.

A retry is answered with the first result and Idempotent-Replayed: true, with 409 while that is made, and
with 422 if it says something else. This is not exactly once: what is kept is lost when the program ends,
and results with status 5xx, 401, 403, 407, 408, 425 and 429 are not kept. WebSocket and streams pass.

The example's limits are variables of the environment: MEM_RATE_LIMIT_INGEST (100/hour), _QUERY (1000/hour),
_PROJECTS (100/hour), _SKILLS (unlimited), _BURST (10, in any second), MEM_IDEMPOTENCY_TTL_SECS (86400),
RATE_LIMITER_CACHE_SIZE (10000).

Examples:

  tickgate serve --example memory
  tickgate serve --example memory --delay 2s
  tickgate serve --upstream http://127.0.0.1:9000 --set 'POST /orders=10/s rolling' --set default=50/s
  tickgate serve --upstream https://api.internal --upstream-ca ca.pem --policies api.yaml --keys keys.txt
  tickgate serve --upstream http://127.0.0.1:9000 --idempotency-field order_id --idempotency-missing require
  tickgate serve --upstream http://127.0.0.1:9000 --listen :8443 --tls-cert cert.pem --tls-key key.pem

SIGTERM or SIGINT ends it: requests under way may end first, upgraded connections are cut off after
--shutdown-timeout. A second signal ends it at once.

Exit status: 0 ended in order, 1 failed (address taken, requests cut off), 2 wrong usage: flags, files,
or the environment.`
}

// Run is called by the parser.
func (c *serveCmd) Run(ctx context.Context, w *world, parsed *kong.Context) error {
	log := c.logger(w)
	cfg, err := c.configure(given(parsed), w, log)
	if err != nil {
		return &failed{exitUsage, err}
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w; write a free address as HOST:PORT", c.Listen, err)
	}
	return server.Run(ctx, listener, *cfg)
}

// given returns the flags that are on the command line, in their order.
func given(parsed *kong.Context) (names []string) {
	for _, p := range parsed.Path {
		if p.Flag != nil {
			names = append(names, p.Flag.Name)
		}
	}
	return names
}

func (c *serveCmd) logger(w *world) *slog.Logger {
	level := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[c.LogLevel]
	options := &slog.HandlerOptions{Level: level}
	if c.Log == "json" {
		return slog.New(slog.NewJSONHandler(w.stderr, options))
	}
	return slog.New(slog.NewTextHandler(w.stderr, options))
}

// configure turns flags, files and environment into what is to run. It reports every
// fault of them.
func (c *serveCmd) configure(given []string, w *world, log *slog.Logger) (*server.Config, error) {
	cfg := &server.Config{
		MaxHeader:   int(c.MaxHeader),
		ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout, IdleTimeout: c.IdleTimeout,
		ShutdownTimeout: c.ShutdownTimeout,
		Log:             log,
	}
	upstream := slices.Contains(given, "upstream")
	var behind front.Config
	err := errors.Join(c.check(given), c.secure(cfg, w, log))
	if c.Example == exampleMemory {
		err = errors.Join(err, c.serveMemory(cfg, w, log))
	}
	if upstream {
		var faults error
		behind, faults = c.front(w, log)
		err = errors.Join(err, faults)
	}
	if err != nil {
		return nil, err
	}
	if upstream {
		made, err := front.New(behind)
		if err != nil {
			return nil, err
		}
		cfg.Handler, cfg.Workers = made, []func(context.Context){made.Run}
		if behind.Accepted == nil {
			log.Info("any key is taken as it is: it is for the upstream to check it")
		}
	}
	return cfg, nil
}
