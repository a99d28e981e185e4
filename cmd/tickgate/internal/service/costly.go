package service

import (
	"fmt"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// costly is what a policy on credit never lets pass, though its limits would.
type costly struct {
	endpoint string
	most     int64 // tokens in one call: the credit
	capacity int64 // of its limits
}

// text says so for people.
func (c *costly) text() string { return fmt.Sprintf(" never more than %d in one call", c.most) }

// costly returns the policies of a set whose credit is below the capacity of their limits, in
// the set's order. What a process may owe the others is the credit, so one call for more
// could never pass, however full the bucket is.
func (r *Redis) costly(set policy.Set) (all []costly) {
	modes, _ := r.modes(set)
	for _, p := range set {
		if modes[p.Endpoint] != redisync.Credit || p.Credit == 0 {
			continue
		}
		shared, capacity := false, int64(0)
		for i, l := range p.Limits {
			shared = shared || l.Window == policy.TokenBucket
			if c := l.Capacity(); i == 0 || c < capacity {
				capacity = c
			}
		}
		if shared && p.Credit < capacity {
			all = append(all, costly{p.Endpoint, p.Credit, capacity})
		}
	}
	return all
}

// warnCostly says so in the log of those of a set that were not so in the set before.
func (c *Core) warnCostly(before, set policy.Set) {
	was := map[costly]bool{}
	for _, one := range c.cfg.Redis.costly(before) {
		was[one] = true
	}
	for _, one := range c.cfg.Redis.costly(set) {
		if !was[one] {
			c.cfg.Log.Warn("a call for more than the credit never passes while the policy is shared on credit: raise its credit, or share it otherwise with --redis-mode",
				"policy", one.endpoint, "credit", one.most, "capacity", one.capacity)
		}
	}
}
