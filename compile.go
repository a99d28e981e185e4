package tickgate

import (
	"errors"
	"fmt"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// checkPolicies reports every fault of a set, including what a gate does not
// serve yet.
func checkPolicies(set policy.Set) error {
	faults := []error{set.Validate()}
	for i, p := range set {
		at := fmt.Sprintf("policies[%d](%s)", i, p.Endpoint)
		for j, l := range p.Limits {
			switch l.Window {
			case policy.Aligned, policy.FromFirst, policy.Rolling:
				faults = append(faults, &ConfigError{
					Field: fmt.Sprintf("%s.limits[%d].window", at, j), Value: l.Window.String(),
					Reason: "this window is not served yet: use a token bucket",
				})
			}
		}
		if p.Shadow {
			faults = append(faults, &ConfigError{
				Field: at + ".shadow", Value: "true", Reason: "shadow policies are not served yet",
			})
		}
	}
	if len(set) > shard.MaxPolicies {
		faults = append(faults, &ConfigError{
			Field: "policies", Value: fmt.Sprint(len(set)), Reason: fmt.Sprintf("at most %d", shard.MaxPolicies),
		})
	}
	return errors.Join(faults...)
}

// compile turns the limits of a policy, which must be valid, into what a plan is
// made of. Unlimited limits say nothing and vanish.
func compile(p policy.Policy) (limits []bucket.Named, deny string, err error) {
	for _, l := range p.Limits {
		switch l.Window {
		case policy.Unlimited:
			continue
		case policy.Deny:
			deny = l.Label()
			continue
		}
		c, e := bucket.New(l.Tokens, int64(l.Per), l.Capacity())
		if e != nil {
			err = errors.Join(err, &ConfigError{
				Field: fmt.Sprintf("policies(%s).limits(%s)", p.Endpoint, l.Label()), Value: l.String(), Reason: e.Error(),
			})
		}
		limits = append(limits, bucket.Named{Name: l.Label(), Unnamed: l.Name == "", Limit: c})
	}
	return limits, deny, err
}
