package venuesim

import "github.com/tickgate/tickgate/policy"

const defaultClass = policy.DefaultEndpoint

// From returns the venue whose rules are the limits of a policy set, so that any
// set can be judged: a message class for each endpoint, a rule for each limit by
// the limit's label, an unlisted class under the default or, without one, denied.
// As in a gate, endpoints share no count.
//
// Only name, tokens, per, burst and window are taken. What guards the sender's
// side means nothing to a venue: reserve and skew, and also credit and shadow.
// There is no ladder: a breach is refused and recorded; see SetLadder.
//
// From panics if the set is not valid, with what Validate says.
func From(set policy.Set) *Venue {
	if err := set.Validate(); err != nil {
		panic("venuesim: From needs a valid set: " + err.Error())
	}
	var classes []Class
	for _, p := range set {
		c := Class{Name: p.Endpoint}
		for _, l := range p.Limits {
			r := &Rule{Name: l.Label(), Limit: Limit{Kind: kindOf(l.Window), Tokens: l.Tokens, Per: l.Per}}
			if l.Window == policy.TokenBucket {
				r.Burst = l.Burst
			}
			c.Rules = append(c.Rules, r)
		}
		classes = append(classes, c)
	}
	v, err := New(classes...)
	if err != nil {
		panic(err.Error())
	}
	return v
}
