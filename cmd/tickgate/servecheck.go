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

// upstreamOnly are the flags that say nothing without --upstream.
var upstreamOnly = []string{
	"key", "on-missing", "keys", "policies", "set", "max-keys", "headers",
	"max-body", "upstream-ca", "upstream-timeout", "upgrade", "trust-forwarded", "log-callers", "idempotency",
}

// retriesOnly are the flags that say nothing without --idempotency, and nor without
// --upstream.
var retriesOnly = []string{
	"idempotency-field", "idempotency-missing", "idempotency-ttl", "idempotency-records", "idempotency-per-caller",
	"idempotency-memory", "idempotency-result", "idempotency-header",
}

// check returns the faults of the flags alone.
func (c *serveCmd) check(given []string) error {
	faults := c.checkForm(given)
	host, port, err := net.SplitHostPort(c.Listen)
	if n, notNumber := strconv.Atoi(port); err != nil || notNumber != nil || n < 0 || n > 65535 {
		faults = append(faults, fmt.Errorf("--listen %s: must be HOST:PORT, as in 127.0.0.1:8080 or :8080", c.Listen))
	} else if host != "" && net.ParseIP(host) == nil && len(host) > 253 {
		faults = append(faults, errors.New("--listen: the name of the host is over 253 bytes"))
	}
	const soon, late = time.Millisecond, 24 * time.Hour
	faults = append(faults,
		within("delay", c.Delay, 0, mostDelay),
		within("max-header", c.MaxHeader, 1<<10, 1<<20),
		within("read-timeout", c.ReadTimeout, soon, late),
		within("write-timeout", c.WriteTimeout, soon, late),
		within("idle-timeout", c.IdleTimeout, soon, late),
		within("shutdown-timeout", c.ShutdownTimeout, 0, late),
		within("max-keys", c.MaxKeys, 1, mostKeys),
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

// checkForm returns the faults of what is to be served, and of flags that do not go
// with it.
func (c *serveCmd) checkForm(given []string) (faults []error) {
	has := func(name string) bool { return slices.Contains(given, name) }
	switch example, upstream := has("example"), has("upstream"); {
	case example == upstream:
		return append(faults, errors.New("give either --example memory or --upstream URL"))
	case example:
		if c.Example != exampleMemory {
			faults = append(faults, fmt.Errorf("--example %q: the only example is memory", c.Example))
		}
		for _, name := range slices.Concat(upstreamOnly, retriesOnly) {
			if has(name) {
				faults = append(faults, fmt.Errorf("--%s: goes with --upstream; the example has its own, and its limits are variables MEM_*", name))
			}
		}
	case has("delay"):
		faults = append(faults, errors.New("--delay: goes with --example"))
	}
	if c.Idempotency.Mode == "off" {
		for _, name := range retriesOnly {
			if has(name) {
				faults = append(faults, fmt.Errorf("--%s: does not go with --idempotency off", name))
			}
		}
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
