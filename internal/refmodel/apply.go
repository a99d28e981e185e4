package refmodel

import (
	"math/big"

	"github.com/tickgate/tickgate/clock"
)

// Apply puts other limits into force at now. A limit is known by its name: what
// is used of it stays used. A new one starts full; one that is not named is gone.
//
// A token bucket keeps what is used to the fraction, whatever its new rate; a
// window of the same kind and period keeps what it counts, and when. Where the
// kind changes, or the period of a window, the tokens used at now, rounded up, are
// charged to the new limit at now.
func (m *Multi) Apply(now clock.Time, limits ...Limit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.axis.begun || now > m.axis.newest {
		m.to(now) // a change that is dated back does not set the clock back
	}
	m.set(limits)
}

func (m *Multi) set(limits []Limit) {
	counters := make([]counter, len(limits))
	for i, l := range limits {
		for _, v := range counters[:i] {
			if v.of().Name == l.Name {
				panic("refmodel: two limits named " + l.Name)
			}
		}
		for _, v := range m.counters {
			if v.of().Name == l.Name {
				counters[i] = changed(v, l, m.axis.newest)
			}
		}
		if counters[i] == nil {
			counters[i] = newCounter(l)
			if m.axis.begun {
				counters[i].to(m.axis.newest)
			}
		}
	}
	m.counters = counters
}

// changed returns a counter of l in the place of v, at now.
func changed(v counter, l Limit, now clock.Time) counter {
	l = l.valid()
	if v.adopt(l) {
		return v
	}
	used := v.used()
	tokens, rest := new(big.Int).QuoRem(used.Num(), used.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		tokens.Add(tokens, big.NewInt(1))
	}
	next := newCounter(l)
	next.to(now)
	if tokens.Sign() > 0 {
		next.charge(int64(saturate(tokens)))
	}
	return next
}
