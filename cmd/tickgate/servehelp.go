package main

// Help is printed under the flags.
func (serveCmd) Help() string {
	return `Ports: --listen answers POST /v1/take, for programs that ask for others, or is the proxy to --upstream or
the example; --check answers POST /v1/take beside a proxy; --rls answers Envoy; --admin is for operators. What
one of them answers no other does. Whoever reaches POST /v1/take, or --rls, may spend every caller's limits, and
whoever reaches --admin may block everyone: all of these listen on loopback unless told otherwise.

  POST /v1/take    {"apikey":"desk-7","endpoint":"order.new","n":1}    or {"requests":[…,…]}, up to 4096

Policies, each over those after it: --set; MEM_RATE_LIMIT_* of the environment; --policies; --postgres; and if
neither of these two is given, defaults. Files and tables are followed. What is no good is logged and shown, and
what was good stays. SIGHUP reads all again at once, and also --keys, --tls-* and --rls-config.

Limits:

  100/s   100/10s   10/s rolling   6000/m burst=200   unlimited   deny
  (burst is the bucket's capacity: how much passes at once)

Several processes: with --redis, policies that have a credit decide here and tell the others, so that all
together admit at most the credit of each other process too much; lease and strict admit nothing too much. Which
policies are shared is decided at the start: later ones that would be shared otherwise are refused, until a restart.

Before an upstream a policy is for the requests that its name matches, as a pattern of Go's http.ServeMux:
"POST /orders/{id}", "GET /files/" (all below), "/v1/" (any method), "api.example.com/". Of several the
most specific one counts. What none matches has the policy "default", one limit for all of it. The host is
what the client writes into Host, and it may write any: a policy for one is no protection of another.

A path that servers read in different ways is a 400 (path_invalid): with empty segments, with . or .., also
encoded, with control characters, or of another policy once an encoded slash or ";" is read as such. But an
upstream may take other paths for the same, such as /ORDERS or /orders/: with --set default=deny what no
policy names does not pass; name all that is below "/files/" only where all of it may have that limit. Nor is
a method seen that is in a form, as _method, or a key that is in a query or a cookie: let the upstream take
none from there.

Of a key only the SHA-256 is held, 8192 bytes long at most, and no log has it, nor anything else that a
client wrote. A request with two keys, or with a header that another server may take for one (X_API_Key, or
Connection: X-API-Key), is a 400 (caller_ambiguous). X-Forwarded-For, -Host and -Proto are set for the
upstream, and trailers of requests are dropped. Headers of the upstream about limits are dropped where
--headers writes the same.

A retry is answered with the first result and Idempotent-Replayed: true, with 409 while that is made, and
with 422 if it says something else. This is not exactly once: what is kept is lost when the program ends,
without --redis, and results with status 5xx, 401, 403, 407, 408, 425 and 429 are not kept. WebSocket and
streams pass.

The example's limits are variables of the environment: MEM_RATE_LIMIT_INGEST (100/hour), _QUERY (1000/hour),
_PROJECTS (100/hour), _SKILLS (unlimited), _BURST (10, in any second), MEM_IDEMPOTENCY_TTL_SECS (86400),
RATE_LIMITER_CACHE_SIZE (10000).

Examples:

  tickgate serve --set order.new=100/s --set default=50/s
  tickgate serve --policies trading.yaml --postgres postgres://limits@db/limits --redis redis://10.0.0.5
  tickgate serve --upstream http://127.0.0.1:9000 --set 'POST /orders=10/s rolling' --set default=50/s
  tickgate serve --upstream https://api.internal --upstream-ca ca.pem --policies api.yaml --keys keys.txt
  tickgate serve --upstream http://127.0.0.1:9000 --idempotency-field order_id --idempotency-missing require
  tickgate serve --listen :8443 --tls-cert cert.pem --tls-key key.pem --tls-client-ca clients.pem
  tickgate serve --listen off --rls :8081 --rls-config /etc/ratelimit
  tickgate serve --config /etc/tickgate.yaml
  tickgate serve --example memory

SIGTERM or SIGINT ends it: requests under way may end first, upgraded connections are cut off after
--shutdown-timeout. A second signal ends it at once.

Exit status: 0 ended in order, 1 failed (address taken, a database that does not answer, requests cut off),
2 wrong usage: flags, files, or the environment.`
}
