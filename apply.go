package tickgate

import (
	"errors"
	"strconv"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// Apply puts other policies into force while the gate goes on deciding: [Operator.Apply]
// in nobody's name.
func (g *Gate) Apply(set policy.Set) error { return g.As("").Apply(set) }

// Apply puts other policies into force while the gate goes on deciding. What
// keys have used stays used: the level of a limit moves by the change in its
// capacity, nothing refills because of the change, and a debt stays a debt.
// Limits are matched by name, those without a name by their rate and then in their
// order. A limit may change its window: what was used of it, in tokens, stays used.
// A set with any fault changes nothing, and the error reports every fault.
//
// Handles, groups and waiters follow: where another policy answers for an endpoint
// now, they go on under that one. An endpoint that is named for the first time
// begins with full limits; what its callers used under "default" does not follow it. A
// handle that went on under another policy costs about 100 ns more a call; a new one does
// not.
//
// Apply walks over all keys and returns when they are converted, in 50 to 180 ms
// for a million. Concurrent calls wait for each other, no decision waits for it.
// Until it returns, a key may still be decided by a limit of before, where that or
// the new one is a rolling limit; the others change at once.
func (o Operator) Apply(set policy.Set) error {
	g := o.g
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.Policies()
	var err error
	if set == nil {
		err = &ConfigError{Field: "policies", Value: "nil", Reason: "would deny everything; an empty set that is not nil says so on purpose, or use Block"}
	} else {
		err = g.apply(set, nil)
	}
	c := Change{What: Applied, Old: old, New: set.Clone(), Err: err}
	if err != nil {
		c.New = old.Clone()
	}
	o.audit(c)
	return err
}

// apply is Apply under the gate's lock. It compiles the policies of the endpoints in anew
// also if they stay as they are.
func (g *Gate) apply(set policy.Set, anew map[string]*share) error {
	if err := checkPolicies(set); err != nil {
		return err
	}
	before := g.routes.Load()
	now := g.Now()
	r := &routes{set: set.Clone(), byName: make(map[string]*route, len(set))}
	plans, faults := g.compileSet(set, before, anew)
	if faults != nil {
		return faults
	}
	for i, p := range set {
		sp := g.known[p.Endpoint]
		if sp == nil {
			sp = g.table.AddPolicy(p.Endpoint, plans[i])
			g.known[p.Endpoint] = sp
		} else if plans[i] != nil {
			g.table.Change(sp, plans[i], now)
		}
		s := g.ledger.share(p.Endpoint)
		sp.SetFlags(p.Shadow, s != nil && s.Mode == RemoteMode)
		r.byName[p.Endpoint] = &route{name: p.Endpoint, policy: sp, limits: r.set[i].Limits}
		if p.Endpoint == policy.DefaultEndpoint {
			r.other = sp
		}
	}
	for _, sp := range g.known {
		r.known = append(r.known, sp)
	}
	r.number = 1
	if before != nil {
		r.number = before.number + 1
	}
	g.routes.Store(r)
	g.handles.moved(r)
	g.waits.wake()
	return nil
}

// compileSet makes the plans that a set brings into force: nil for a policy that
// stays as it is. It reports every fault.
func (g *Gate) compileSet(set policy.Set, before *routes, anew map[string]*share) ([]*bucket.Plan, error) {
	plans := make([]*bucket.Plan, len(set))
	var faults error
	fresh, now := 0, g.Now()
	stood := map[string]policy.Policy{}
	if before != nil {
		for _, p := range before.set {
			stood[p.Endpoint] = p
		}
	}
	for i, p := range set {
		known := g.known[p.Endpoint]
		if known == nil {
			fresh++
		} else if q, ok := stood[p.Endpoint]; ok && p.Equal(q) && anew[p.Endpoint] == nil {
			continue
		}
		limits, deny, err := compile(p, g.wall, g.ledger.share(p.Endpoint))
		if err == nil {
			plans[i] = planOf(known).Next(limits, deny, now).WithBlock(g.blocked)
			err = g.table.Equip(plans[i])
			if err != nil {
				err = &ConfigError{Field: "policies(" + p.Endpoint + ").limits", Value: strconv.Itoa(g.table.Cap()) + " keys", Reason: err.Error()}
			}
		}
		faults = errors.Join(faults, err, g.ledger.keeps(p, stood[p.Endpoint]))
	}
	if all := len(g.known) + fresh; all > shard.MaxPolicies {
		faults = errors.Join(faults, &ConfigError{
			Field: "policies", Value: strconv.Itoa(all),
			Reason: "a gate can name at most " + strconv.Itoa(shard.MaxPolicies) + " endpoints in its life",
		})
	}
	return plans, faults
}

// planOf returns the plan in force of a policy, nil if it is new.
func planOf(p *shard.Policy) *bucket.Plan {
	if p == nil {
		return nil
	}
	return p.Plan()
}
