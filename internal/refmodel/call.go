package refmodel

import "github.com/tickgate/tickgate/clock"

// Call is what is asked of the limits of a key.
type Call struct {
	// N is the tokens to take from every limit. 0 looks without taking.
	N int64

	// Costs is the tokens to take of a limit instead, by its name. A name that no
	// limit has is ignored. Where there are any, a limit whose cost is 0, by its
	// name or by N, is left out: it does not decide, and nothing is looked at.
	Costs map[string]int64

	// Urgent calls may use what limits have in reserve.
	Urgent bool
}

// of is the cost of a call for a limit, and whether the limit has a say at all.
func (c Call) of(limit string) (n int64, in bool) {
	if len(c.Costs) == 0 {
		return c.N, true
	}
	n, ok := c.Costs[limit]
	if !ok {
		n = c.N
	}
	return n, n != 0
}

// counts reports whether the call may take anything.
func (c Call) counts() bool {
	for _, n := range c.Costs {
		if n > 0 {
			return true
		}
	}
	return c.N > 0
}

// TakeAt takes n tokens from every limit at now, if all have them. n == 0 looks
// without taking.
func (m *Multi) TakeAt(now clock.Time, n int64) Decision { return m.Take(now, Call{N: n}) }

// TakeUrgentAt is TakeAt of an urgent call: it may use what limits have in reserve.
func (m *Multi) TakeUrgentAt(now clock.Time, n int64) Decision {
	return m.Take(now, Call{N: n, Urgent: true})
}

// TakeCosts is TakeAt with costs of their own for some limits; see [Call.Costs].
func (m *Multi) TakeCosts(now clock.Time, n int64, costs map[string]int64) Decision {
	return m.Take(now, Call{N: n, Costs: costs})
}

// Peek is TakeAt of nothing.
func (m *Multi) Peek(now clock.Time) Decision { return m.TakeAt(now, 0) }
