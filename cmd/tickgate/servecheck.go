package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/adapter/httplimit"
)

// exampleMemory is the name of the example.
const exampleMemory = "memory"

// mostDelay bounds --delay: no longer than clients and the example's server wait.
const mostDelay = 30 * time.Second

// off is the value of a flag for a part that is not to be.
const off = "off"

// upstreamOnly are the flags that say nothing without --upstream.
var upstreamOnly = []string{
	"key", "on-missing", "keys", "headers", "check",
	"max-body", "upstream-ca", "upstream-timeout", "upgrade", "trust-forwarded", "log-callers", "idempotency",
}

// retriesOnly are the flags that say nothing without --idempotency, and nor without
// --upstream.
var retriesOnly = []string{
	"idempotency-field", "idempotency-missing", "idempotency-ttl", "idempotency-records", "idempotency-per-caller",
	"idempotency-memory", "idempotency-result", "idempotency-header",
}

// limitsOnly are the flags that say nothing where only Envoy is served.
var limitsOnly = []string{
	"policies", "set", "postgres", "postgres-poll",
	"redis", "redis-mode", "redis-away", "redis-nodes", "redis-deadline", "redis-quiet", "redis-prefix",
}

// needs are the flags that say nothing without another one.
var needs = []struct{ flag, other string }{
	{"postgres-poll", "postgres"}, {"rls-config", "rls"}, {"rls-headers", "rls"},
}

// port is an address to listen on.
type port struct{ flag, address string }

func (c *serveFlags) ports() []port {
	return []port{{"listen", c.Listen}, {"check", c.Check}, {"rls", c.RLS.Listen}, {"admin", c.Admin.Listen}}
}

// check returns the faults of the flags alone.
func (c *serveFlags) check(given []string) error {
	faults := c.checkForm(given)
	for _, p := range c.ports() {
		faults = append(faults, checkAddress(p))
	}
	faults = append(faults, c.checkAdmin(given))
	const soon, late = time.Millisecond, 24 * time.Hour
	faults = append(faults,
		within("delay", c.Delay, 0, mostDelay),
		within("max-header", c.MaxHeader, 1<<10, 1<<20),
		within("read-timeout", c.ReadTimeout, soon, late),
		within("write-timeout", c.WriteTimeout, soon, late),
		within("idle-timeout", c.IdleTimeout, soon, late),
		within("shutdown-timeout", c.ShutdownTimeout, 0, late),
		within("max-keys", c.MaxKeys, 1, mostKeys),
		within("redis-nodes", c.Redis.Nodes, 1, 10_000),
		within("redis-deadline", c.Redis.Deadline, 100*time.Microsecond, 10*time.Second),
		within("redis-quiet", c.Redis.Quiet, 0, 365*24*time.Hour),
		within("idempotency-ttl", c.Idempotency.TTL, time.Second, 365*24*time.Hour),
		within("idempotency-records", c.Idempotency.Records, 1, mostKeys),
		within("idempotency-memory", c.Idempotency.Memory, 1<<20, 1<<40),
		within("idempotency-result", c.Idempotency.Result, 1, 1<<30),
		within("max-body", c.MaxBody, 1, 1<<30),
		within("upstream-timeout", c.UpstreamTimeout, soon, late),
	)
	if slices.Contains(given, "idempotency-per-caller") {
		faults = append(faults, within("idempotency-per-caller", c.Idempotency.Each, 2, mostKeys))
	}
	for _, name := range c.Idempotency.Headers {
		if err := httplimit.CheckHeader(name); err != nil {
			faults = append(faults, fmt.Errorf("--idempotency-header %q: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// checkAddress returns what is wrong with the address of a port.
func checkAddress(p port) error {
	if p.address == "" || p.address == off && (p.flag == "listen" || p.flag == "admin") {
		return nil
	}
	host, number, err := net.SplitHostPort(p.address)
	if n, notNumber := strconv.Atoi(number); err != nil || notNumber != nil || n < 0 || n > 65535 {
		return fmt.Errorf("--%s %s: must be HOST:PORT, as in 127.0.0.1:8080 or :8080", p.flag, p.address)
	}
	if host != "" && net.ParseIP(host) == nil && len(host) > 253 {
		return fmt.Errorf("--%s: the name of the host is over 253 bytes", p.flag)
	}
	return nil
}

// checkAdmin returns the faults of the operators' port: it must not be open by mistake.
func (c *serveFlags) checkAdmin(given []string) error {
	var faults []error
	for _, flag := range []string{"admin-allow-host", "show-keys"} {
		if c.Admin.Listen == off && slices.Contains(given, flag) {
			faults = append(faults, fmt.Errorf("--%s: does not go with --admin off", flag))
		}
	}
	host, _, err := net.SplitHostPort(c.Admin.Listen)
	if err != nil || host == "localhost" || net.ParseIP(host).IsLoopback() {
		return errors.Join(faults...)
	}
	if len(c.Admin.AllowHosts) == 0 {
		faults = append(faults, fmt.Errorf("--admin %s: is not loopback, and who reaches it may block everyone; keep all but operators away from it, and name what it is asked by with --admin-allow-host", c.Admin.Listen))
	}
	return errors.Join(faults...)
}

// checkForm returns the faults of what is to be served, and of flags that do not go
// with it.
func (c *serveFlags) checkForm(given []string) (faults []error) {
	has := func(name string) bool { return slices.Contains(given, name) }
	refuse := func(why string, lists ...[]string) {
		for _, name := range slices.Concat(lists...) {
			if has(name) {
				faults = append(faults, fmt.Errorf("--%s: %s", name, why))
			}
		}
	}
	switch example, upstream := has("example"), has("upstream"); {
	case example && upstream:
		return append(faults, errors.New("give either --example memory or --upstream URL"))
	case example:
		if c.Example != exampleMemory {
			faults = append(faults, fmt.Errorf("--example %q: the only example is memory", c.Example))
		}
		refuse("does not go with --example, which has limits of its own, as variables MEM_*",
			upstreamOnly, retriesOnly, limitsOnly, []string{"max-keys", "rls", "rls-config", "rls-headers"})
		if c.Listen == off {
			faults = append(faults, errors.New("--listen off: goes with --rls alone"))
		}
		return faults
	case !upstream:
		refuse("goes with --upstream", upstreamOnly, retriesOnly)
	}
	refuse("goes with --example", only("delay"))
	if c.Listen == off {
		if has("upstream") || !has("rls") {
			faults = append(faults, errors.New("--listen off: goes with --rls alone"))
		}
		refuse("does not go with --listen off: Envoy's limits are those of --rls-config", limitsOnly)
	}
	for _, n := range needs {
		if has(n.flag) && !has(n.other) {
			faults = append(faults, fmt.Errorf("--%s: goes with --%s", n.flag, n.other))
		}
	}
	if has("rls") && len(c.RLS.Paths) == 0 {
		faults = append(faults, errors.New("--rls: needs its limits; name a file or a folder with --rls-config"))
	}
	if c.Idempotency.Mode == off {
		refuse("does not go with --idempotency off", retriesOnly)
	}
	return append(faults, c.checkRedis(refuse)...)
}

func only(names ...string) []string { return names }

// mostResult is the longest result that Redis takes, with room for its header.
const mostResult = 64<<20 - roomForHeader

// checkRedis returns the faults of flags that do or do not go with Redis.
func (c *serveFlags) checkRedis(refuse func(why string, lists ...[]string)) (faults []error) {
	if c.Redis.URL == "" || c.Redis.URL == off {
		refuse("goes with --redis, or REDIS_URL", only("redis-mode", "redis-away", "redis-nodes", "redis-deadline", "redis-quiet", "redis-prefix"))
		return nil
	}
	refuse("does not go with --redis, which has bounds of its own", only("idempotency-memory"))
	if c.remembers() && c.Idempotency.Result > mostResult {
		faults = append(faults, fmt.Errorf("--idempotency-result %v: must be at most %v with --redis", c.Idempotency.Result, byteSize(mostResult)))
	}
	return faults
}

// within reports a flag whose value lies outside low to high.
func within[T cmp.Ordered](flag string, value, low, high T) error {
	if value < low || value > high {
		return fmt.Errorf("--%s %v: must be %v to %v", flag, value, low, high)
	}
	return nil
}
