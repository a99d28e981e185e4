package service

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/redisync"
)

// Follows says what keeps a set, which is to come into force while budgets are shared,
// from being shared as it would be at a start: a policy that nobody else counts would
// otherwise be taken for one that all count. nil before the start, which judges for
// itself. It reports every fault, each with its endpoint.
func (r *Redis) Follows(set policy.Set) error {
	started := r.started.Load()
	if started == nil {
		return nil
	}
	before := *started
	now, _ := r.modes(set)
	var faults []error
	fault := func(endpoint, reason string) {
		faults = append(faults, fmt.Errorf("policies(%s): %s; which policies are shared through Redis is decided at the start", endpoint, reason))
	}
	there := map[string]bool{}
	for _, p := range set {
		there[p.Endpoint] = true
		was, is := before[p.Endpoint], now[p.Endpoint]
		switch {
		case was == is:
		case was == redisync.Local:
			fault(p.Endpoint, "has a credit and is not shared yet: leave the credit out, or restart")
		default:
			fault(p.Endpoint, "is shared on "+was.String()+" and has no credit any more: give it one, or restart")
		}
	}
	if before[policy.DefaultEndpoint] == redisync.Strict {
		// Those without a policy are asked of Redis then, and what was shared otherwise is not.
		for _, endpoint := range slices.Sorted(maps.Keys(before)) {
			if m := before[endpoint]; m != redisync.Local && !there[endpoint] {
				fault(endpoint, "is shared on "+m.String()+" and is missing, and default is strict: keep it, or restart")
			}
		}
	}
	if faults != nil {
		return errors.Join(faults...)
	}
	return r.Check(set)
}
