package tickgate

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	uatomic "go.uber.org/atomic"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// Gate decides. Make one with [New] and share it.
type Gate struct {
	// First, because on 32-bit machines only the beginning of an allocation is sure
	// to be aligned for 64-bit atomics.
	bad   uatomic.Uint64 // requests refused as BadRequest
	stray uatomic.Uint64 // requests refused as NoPolicy

	number uint32 // tells this gate's decisions from another's
	ticker shard.Ticker
	clock  clock.Clock
	table  *shard.Table
	routes atomic.Pointer[routes]

	mu    sync.Mutex // serializes Apply and Close; no decision takes it
	known map[string]*shard.Policy
}

// gates counts the gates that were made.
var gates atomic.Uint32

// New makes a gate. It reports every fault of the configuration at once, each a
// [*ConfigError]. All memory that keys will need is reserved here.
func New(cfg Config) (*Gate, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	table, err := shard.New(shard.Options{MaxKeys: cfg.MaxKeys, Reject: cfg.OnFull == RejectNew, Clock: cfg.Clock})
	if err != nil {
		return nil, err
	}
	g := &Gate{number: gates.Add(1), clock: cfg.Clock, table: table, known: map[string]*shard.Policy{}}
	g.ticker.Other = cfg.Clock
	g.ticker.TSC, _ = cfg.Clock.(*clock.TSC)
	if err := g.Apply(cfg.Policies); err != nil {
		return nil, err
	}
	return g, nil
}

// Apply puts other policies into force while the gate goes on deciding. What
// keys have used stays used: the level of a limit moves by the change in its
// capacity, nothing refills because of the change, and a debt stays a debt.
// Limits are matched by name, those without a name by their rate and then in their
// order. A set with any fault changes nothing, and the error reports every fault.
//
// An endpoint that is named for the first time begins with full limits; what its
// callers used under "default" does not follow it. Handles keep the policy they
// were made under: they follow its changes, but not a policy that comes for their
// endpoint later or is removed. Make them again then.
//
// Apply walks over all keys and returns when they are converted, in about 50 ms
// for a million. Concurrent calls wait for each other.
func (g *Gate) Apply(set policy.Set) error {
	if err := checkPolicies(set); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	r := &routes{set: set.Clone(), byName: make(map[string]*route, len(set))}
	plans := make([]*bucket.Plan, len(set))
	var faults error
	fresh := 0
	for i, p := range set {
		if g.known[p.Endpoint] == nil {
			fresh++
		}
		limits, deny, err := compile(p)
		faults = errors.Join(faults, err)
		if err == nil {
			plans[i] = g.planOf(p.Endpoint).Next(limits, deny, now)
		}
	}
	if all := len(g.known) + fresh; all > shard.MaxPolicies {
		faults = errors.Join(faults, &ConfigError{
			Field: "policies", Value: strconv.Itoa(all),
			Reason: "a gate can name at most " + strconv.Itoa(shard.MaxPolicies) + " endpoints in its life",
		})
	}
	if faults != nil {
		return faults
	}
	for i, p := range set {
		sp := g.known[p.Endpoint]
		if sp == nil {
			sp = g.table.AddPolicy(p.Endpoint, plans[i])
			g.known[p.Endpoint] = sp
		} else if !same(r.set[i], g.routes.Load().set) {
			g.table.Change(sp, plans[i], now)
		}
		r.byName[p.Endpoint] = &route{name: p.Endpoint, policy: sp}
		if p.Endpoint == policy.DefaultEndpoint {
			r.other = sp
		}
	}
	for _, sp := range g.known {
		r.known = append(r.known, sp)
	}
	g.routes.Store(r)
	return nil
}

// planOf returns the plan in force for a named endpoint, nil if it is new.
func (g *Gate) planOf(endpoint string) *bucket.Plan {
	if p := g.known[endpoint]; p != nil {
		return p.Plan()
	}
	return nil
}

// same reports whether p stands in set as it is.
func same(p policy.Policy, set policy.Set) bool {
	q, ok := set.Lookup(p.Endpoint)
	return ok && q.Endpoint == p.Endpoint && p.Equal(q)
}

// Policies returns a copy of the policies in force.
func (g *Gate) Policies() policy.Set { return g.routes.Load().set.Clone() }

// Close ends the gate's use. Decisions that are under way, and later ones, are
// still right; the memory goes back to the system when the gate and its handles
// are no longer reachable. It never fails and may be called again.
func (g *Gate) Close() error { return nil }

// now reads the gate's clock.
func (g *Gate) now() clock.Time { return g.ticker.Now() }

// maxName is the longest apikey or endpoint, in bytes.
const maxName = 256

func badName(s string) bool { return uint(len(s)-1) >= maxName }
