package promlimit

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

var (
	requests      = desc("requests_total", "Decisions by policy: allowed, denied by a limit, shadow_denied (allowed, but a limit in shadow mode denied), blocked (by a block or a ban), error (no policy, or a bad request).", "policy", "decision")
	nearLimit     = desc("near_limit_total", "Explained decisions that were allowed and left less than a fifth of a limit.", "policy")
	hits          = desc("hits_total", "Decisions about keys that were known.")
	misses        = desc("misses_total", "Decisions that brought a key in, or found no room for it.")
	keys          = desc("keys", "Keys held.")
	keysCapacity  = desc("keys_capacity", "Keys that there is room for.")
	evictions     = desc("evictions_total", "Keys dropped to make room: idle ones, which lost nothing, and forced ones, which owed something.", "reason")
	rollbacks     = desc("rollbacks_lost_total", "Decisions that could not put back what they had taken of the limits or joined keys asked first.")
	policyLimit   = desc("policy_limit", "Tokens of a limit, its capacity; +Inf for unlimited.", "policy", "limit")
	policyWindow  = desc("policy_window_seconds", "Period of a limit.", "policy", "limit")
	policyCredits = desc("policy_credit", "Tokens of a key that a process may use of a shared budget before the others know.", "policy")
	policyShadow  = desc("policy_shadow", "1 if the policy is in shadow mode.", "policy")
	policies      = desc("policies", "Policies in force.")
)

var gateDescs = []*prometheus.Desc{
	requests, nearLimit, hits, misses, keys, keysCapacity, evictions, rollbacks, policyLimit, policyWindow, policyCredits, policyShadow, policies,
}

// collectGate reads the gate.
func (c *Collector) collectGate(out chan<- prometheus.Metric) {
	s, set := c.cfg.Gate.Stats(), c.cfg.Gate.Policies()
	count(out, hits, s.Hits)
	count(out, misses, s.Misses)
	gauge(out, keys, float64(s.Size))
	gauge(out, keysCapacity, float64(s.Capacity))
	count(out, evictions, s.Evictions.Idle, "idle")
	count(out, evictions, s.Evictions.Forced, "forced")
	count(out, rollbacks, s.RollbacksLost)
	gauge(out, policies, float64(len(s.Policies)))
	count(out, requests, s.NoPolicy+s.BadRequests, "", "error") // of no policy
	collectPolicies(out, set, c.collectDecisions(out, s.Policies))
}

// collectDecisions returns what is told of by name.
func (c *Collector) collectDecisions(out chan<- prometheus.Metric, all []tickgate.PolicyStats) map[string]counts {
	own, rest := c.places.look(all)
	tell := func(name string, n counts) {
		for i, decision := range decisions {
			count(out, requests, n[i], name, decision)
		}
		count(out, nearLimit, n[len(decisions)], name)
	}
	for name, n := range own {
		tell(name, n)
	}
	tell(Other, rest)
	return own
}

// collectPolicies tells what the policies say that have series of their own.
func collectPolicies(out chan<- prometheus.Metric, set policy.Set, own map[string]counts) {
	for _, p := range set {
		if _, ok := own[p.Endpoint]; !ok {
			continue
		}
		shadow := 0.0
		if p.Shadow {
			shadow = 1
		}
		gauge(out, policyShadow, shadow, p.Endpoint)
		gauge(out, policyCredits, float64(p.Credit), p.Endpoint)
		for _, l := range p.Limits {
			tokens := float64(l.Capacity())
			switch l.Window {
			case policy.Unlimited:
				tokens = math.Inf(1)
			case policy.Deny:
				tokens = 0
			}
			gauge(out, policyLimit, tokens, p.Endpoint, l.Label())
			gauge(out, policyWindow, l.Per.Seconds(), p.Endpoint, l.Label())
		}
	}
}
