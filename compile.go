package tickgate

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/shard"
)

// checkPolicies reports every fault of a set.
func checkPolicies(set policy.Set) error {
	faults := []error{set.Validate()}
	if len(set) > shard.MaxPolicies {
		faults = append(faults, &ConfigError{
			Field: "policies", Value: fmt.Sprint(len(set)), Reason: fmt.Sprintf("at most %d", shard.MaxPolicies),
		})
	}
	return errors.Join(faults...)
}

// compile turns the limits of a policy, which must be valid, into what a plan is
// made of. Unlimited limits say nothing and vanish. b, unless nil, is what bounds the use
// of its token buckets here.
func compile(p policy.Policy, wall clock.Wall, b *share) (limits []bucket.Named, deny string, err error) {
	var budgets []bucket.Named
	for _, l := range p.Limits {
		switch l.Window {
		case policy.Unlimited:
			continue
		case policy.Deny:
			deny = l.Label()
			continue
		}
		c, e := compileLimit(l, wall)
		if e != nil {
			err = errors.Join(err, &ConfigError{
				Field: fmt.Sprintf("policies(%s).limits(%s)", p.Endpoint, l.Label()), Value: l.String(), Reason: e.Error(),
			})
		}
		named := bucket.Named{Name: l.Label(), Unnamed: l.Name == "", Limit: c}
		if b != nil && e == nil && l.Window == policy.TokenBucket {
			budget, alone, e := b.of(p, l)
			err = errors.Join(err, e)
			budgets = append(budgets, budget)
			if alone {
				continue
			}
		}
		limits = append(limits, named)
	}
	if len(limits)+len(budgets) > bucket.MaxLimits {
		err = errors.Join(err, &ConfigError{
			Field: fmt.Sprintf("policies(%s).limits", p.Endpoint), Value: strconv.Itoa(len(limits)),
			Reason: fmt.Sprintf("with a credit beside each that is shared there are %d; at most %d", len(limits)+len(budgets), bucket.MaxLimits),
		})
	}
	return append(limits, budgets...), deny, err
}

// compileLimit turns one limit, which must be valid, into its arithmetic.
func compileLimit(l policy.Limit, wall clock.Wall) (c bucket.Limit, err error) {
	per, skew := int64(l.Per), int64(l.Skew)
	switch l.Window {
	case policy.Aligned:
		c, err = bucket.NewAligned(l.Tokens, per, skew, wall)
	case policy.FromFirst:
		c, err = bucket.NewFromFirst(l.Tokens, per, skew)
	case policy.Rolling:
		c, err = bucket.NewRolling(l.Tokens, per, skew)
	default:
		c, err = bucket.New(l.Tokens, per, l.Capacity())
	}
	if err != nil || l.Reserve == 0 {
		return c, err
	}
	return c.WithReserve(l.Reserve)
}
