package redisync

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// Defaults of a [Config].
const (
	DefaultPrefix   = "tickgate"
	DefaultInterval = 10 * time.Millisecond
	DefaultDeadline = 2 * time.Millisecond
	DefaultMaxSyncs = 50_000
)

// Config says how budgets are shared. Only Gate, and Redis by Transport, URL or the
// environment, are required.
type Config struct {
	// Gate is the gate whose budgets are shared. A gate has one Sync at a time.
	Gate *tickgate.Gate

	// Transport reaches Redis; whoever made it closes it, after the Sync. nil: New
	// dials URL, and Close closes the connections.
	Transport Transport

	// URL names the Redis servers, see [Dial]. Empty: REDIS_URL of the environment.
	URL string

	// Policies say how each is shared, by the endpoint of the policy. nil: those that
	// have a Credit are Credit, the others Local, as is whatever is not in the map.
	Policies map[string]Mode

	// Prefix begins every key in Redis. Processes share a budget if they have the same
	// Redis, Prefix, endpoint, name of the limit and apikey. A policy's only token bucket
	// needs no name; several need one each. 1 to 64 bytes of printable ASCII
	// without spaces and braces. Empty: "tickgate".
	Prefix string

	// Interval is how often what was used is told, half of the credit or more at once:
	// 1 ms to 1 s. 0: 10 ms. It does not change how much can be admitted too much, only
	// how well the nodes share, and what Redis has to do.
	Interval time.Duration

	// MaxAge is the age beyond which what Redis said of a budget is not trusted: Away
	// says what then, and a lease ends. At least 20 ms and four Intervals, at most a
	// day, in whole ms; where leases are shared, the same on every node. 0:
	// RATE_LIMITER_CACHE_TTL_SECONDS of the environment, which is 1 s where that is
	// not set.
	MaxAge time.Duration

	// Away is what holds for policies on credit whose budget is beyond MaxAge. Zero: Share.
	Away Rule

	// Deadline is how long [Sync.Take] waits for Redis, at least 100 µs and at most 10 s.
	// 0: 2 ms.
	Deadline time.Duration

	// Spent is what Take does where the credit is spent. Zero: Deny.
	Spent Spent

	// Nodes is how many processes share the budgets at least, up to 10,000. It matters
	// until each has heard of the others, which takes a second, and while Redis is away. 0: 1.
	Nodes int

	// MaxSyncs is the most calls a second, 100 to 10^9, that this process makes for its
	// accounts; strict calls are not counted. 0: 50,000, which is what one Redis can take.
	MaxSyncs int

	// Since is when the gate's policies were given, to the millisecond. Where nodes have
	// different ones the newest is in force in Redis, for all of them, and of equally old
	// ones the first there. Zero: when New is called, so the process that was started last
	// has its way, even if its policies are the older ones: give the time of the file or
	// the release they are from, the same to every process that has them. A change by
	// [tickgate.Gate.Apply] is from when it is made.
	Since time.Time

	// Quiet vouches that for so long before New no process has used leases under Prefix.
	// Without it the first node on a Redis without data grants nothing for a term, and
	// from empty buckets then, because Redis might just have lost what it had granted.
	Quiet time.Duration

	// Clock must be the gate's, or one that reads the same. nil: the gate's.
	Clock clock.Clock

	// Rand is where jitter comes from. nil: a random one. It is used by one goroutine
	// at a time.
	Rand rand.Source

	// Log is told when Redis is away or back, and of faults. nil: slog.Default(). Nothing is
	// logged for each decision or call, and no apikey.
	Log *slog.Logger

	// Lookup reads the environment. nil: os.LookupEnv.
	Lookup func(string) (string, bool)
}

// check completes a configuration and reports every fault of it.
func (c *Config) check() error {
	var faults []error
	fault := func(field, value, reason string) {
		faults = append(faults, &tickgate.ConfigError{Field: "redisync." + field, Value: value, Reason: reason})
	}
	within := func(field string, d *time.Duration, fallback, least, most time.Duration) {
		if *d == 0 {
			*d = fallback
		}
		if *d < least || *d > most {
			fault(field, d.String(), fmt.Sprintf("must be %v to %v", least, most))
		}
	}
	count := func(field string, n *int, fallback, least, most int) {
		if *n == 0 {
			*n = fallback
		}
		if *n < least || *n > most {
			fault(field, strconv.Itoa(*n), fmt.Sprintf("must be %d to %d", least, most))
		}
	}
	env, err := c.environment()
	if err != nil {
		faults = append(faults, err)
		env.CacheTTL = time.Second
	}
	if c.URL == "" {
		c.URL = env.RedisURL
	}
	if c.Transport == nil && c.URL == "" && err == nil {
		fault("URL", "", "say where Redis is, as in redis://127.0.0.1:6379, here or in REDIS_URL")
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if reason := prefixFault(c.Prefix); reason != "" {
		fault("Prefix", c.Prefix, reason)
	}
	within("Interval", &c.Interval, DefaultInterval, time.Millisecond, time.Second)
	within("MaxAge", &c.MaxAge, min(env.CacheTTL, 24*time.Hour), max(20*time.Millisecond, 4*c.Interval), 24*time.Hour)
	if c.MaxAge%time.Millisecond != 0 {
		fault("MaxAge", c.MaxAge.String(), "must be whole milliseconds")
	}
	within("Deadline", &c.Deadline, DefaultDeadline, 100*time.Microsecond, 10*time.Second)
	count("Nodes", &c.Nodes, 1, 1, 10_000)
	count("MaxSyncs", &c.MaxSyncs, DefaultMaxSyncs, 100, 1_000_000_000)
	if c.Quiet < 0 || c.Quiet > policy.MaxPer {
		fault("Quiet", c.Quiet.String(), fmt.Sprintf("must be 0 to %v", policy.MaxPer))
	}
	if c.Since.IsZero() {
		c.Since = time.Now()
	}
	if ms := c.Since.UnixMilli(); ms < 0 || ms > MaxTotal {
		fault("Since", c.Since.String(), "must be after 1970")
	}
	if c.Away > Closed {
		fault("Away", c.Away.String(), "must be Share, Open or Closed")
	}
	if c.Spent > Ask {
		fault("Spent", c.Spent.String(), "must be Deny or Ask")
	}
	if c.Rand == nil {
		c.Rand = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Gate == nil {
		fault("Gate", "nil", "must be the gate whose budgets are to be shared")
	} else {
		if c.Clock == nil {
			c.Clock = gateClock{c.Gate}
		}
		if d := c.Clock.Now().Sub(c.Gate.Now()); d > mostApart || d < -mostApart {
			fault("Clock", fmt.Sprintf("%v from the gate's", d), "must be the clock that the gate has: leave it nil")
		}
		faults = append(faults, c.checkPolicies(c.Gate.Policies(), fault))
	}
	return errors.Join(faults...)
}

// mostApart is how far two readings of one clock may be apart that are taken one after
// the other; other clocks have another start.
const mostApart = time.Second

// gateClock is the clock of a gate.
type gateClock struct{ gate *tickgate.Gate }

func (c gateClock) Now() clock.Time { return c.gate.Now() }

// environment reads what the configuration leaves to it, and nothing where it leaves
// nothing.
func (c *Config) environment() (policy.Env, error) {
	lookup := c.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	return policy.EnvFrom(func(name string) (string, bool) {
		switch {
		case name == "REDIS_URL" && c.URL == "" && c.Transport == nil,
			name == "RATE_LIMITER_CACHE_TTL_SECONDS" && c.MaxAge == 0:
			return lookup(name)
		}
		return "", false
	})
}

// checkPolicies completes Policies, and reports what cannot be shared of set.
func (c *Config) checkPolicies(set policy.Set, fault func(field, value, reason string)) error {
	modes, named := make(map[string]Mode, len(set)), c.Policies != nil
	for _, p := range set {
		if m := c.Policies[p.Endpoint]; m != Local {
			modes[p.Endpoint] = m
		} else if !named && p.Credit > 0 {
			modes[p.Endpoint] = Credit
		}
	}
	var faults []error
	for _, endpoint := range slices.Sorted(maps.Keys(c.Policies)) {
		m := c.Policies[endpoint]
		if p, ok := set.Lookup(endpoint); !ok || p.Endpoint != endpoint {
			fault("Policies["+strconv.Quote(endpoint)+"]", m.String(), "the gate has no policy named so")
		}
		if m > Strict {
			fault("Policies["+strconv.Quote(endpoint)+"]", m.String(), "must be Local, Credit, Lease or Strict")
			delete(modes, endpoint)
		}
	}
	for _, p := range set {
		if m := modes[p.Endpoint]; m != Local {
			faults = append(faults, c.sharable(p, m))
		}
	}
	if len(modes) == 0 {
		fault("Policies", "none", "nothing is shared: give a policy of the gate a Credit, or name it here")
	}
	c.Policies = modes
	return errors.Join(faults...)
}

// sharable says what keeps a policy from being shared.
func (c *Config) sharable(p policy.Policy, m Mode) error {
	var faults []error
	field, buckets := "redisync.Policies["+strconv.Quote(p.Endpoint)+"]", bucketsOf(p)
	for _, l := range p.Limits {
		if l.Window != policy.TokenBucket {
			continue
		}
		if l.Name == "" && buckets > 1 {
			faults = append(faults, &tickgate.ConfigError{Field: field + "." + l.Label(), Value: l.String(), Reason: "give the limit a name: there are several, and processes share a limit by its name"})
		}
		if _, err := PolicyOf(l.Tokens, l.Per, l.Capacity(), 0); err != nil {
			faults = append(faults, &tickgate.ConfigError{Field: field + "." + l.Label(), Value: l.String(), Reason: err.Error()})
		}
	}
	alone := m == Strict || m == Credit && c.Spent == Ask
	switch {
	case buckets == 0:
		faults = append(faults, &tickgate.ConfigError{Field: field, Value: m.String(), Reason: "the policy has no token bucket, and only those are shared"})
	case alone && len(p.Limits) != 1:
		why := "Strict"
		if m != Strict {
			why = "Spent: Ask"
		}
		faults = append(faults, &tickgate.ConfigError{Field: field, Value: strconv.Itoa(len(p.Limits)) + " limits", Reason: why + " needs a policy of one limit, since Redis decides on one at a time"})
	}
	return errors.Join(faults...)
}
