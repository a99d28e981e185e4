package refmodel

import (
	"sync"

	"github.com/tickgate/tickgate/clock"
)

// Default is the endpoint whose limits hold where no other is named.
const Default = "default"

// Limits says which limits hold for every apikey at an endpoint.
type Limits map[string][]Limit

// Gate is a map of keys: one [Multi] for every pair of apikey and endpoint. It
// forgets nothing unless told to. It is safe for concurrent use.
type Gate struct {
	// SetBack is as in Multi, for every key.
	SetBack bool

	mu     sync.Mutex
	limits Limits
	keys   map[name]*Multi
}

type name struct{ apikey, endpoint string }

// NewGate returns a gate that knows no key.
func NewGate(l Limits) *Gate {
	return &Gate{limits: l, keys: make(map[name]*Multi)}
}

// TakeAt takes n tokens at now from every limit of apikey at endpoint, if all
// have them. An endpoint without limits, where [Default] has none either, denies.
// n == 0 looks without taking: an unknown key is answered for as a full one, and
// stays unknown.
func (g *Gate) TakeAt(now clock.Time, apikey, endpoint string, n int64) Decision {
	return g.Take(now, apikey, endpoint, Call{N: n})
}

// Take is [Multi.Take] for apikey at endpoint; for the rest as TakeAt.
func (g *Gate) Take(now clock.Time, apikey, endpoint string, c Call) Decision {
	m := g.key(apikey, endpoint, c.counts())
	if m == nil {
		return Decision{At: now, RetryAfter: Never}
	}
	return m.Take(now, c)
}

// Charge is [Multi.Charge] for apikey at endpoint.
func (g *Gate) Charge(now clock.Time, apikey, endpoint string, n int64) {
	if m := g.key(apikey, endpoint, true); m != nil {
		m.Charge(now, n)
	}
}

// Credit is [Multi.Credit] for apikey at endpoint.
func (g *Gate) Credit(now clock.Time, apikey, endpoint string, n int64) {
	if m := g.key(apikey, endpoint, false); m != nil {
		m.Credit(now, n)
	}
}

// Refund is [Multi.Refund] for apikey at endpoint, whose the receipt must be.
func (g *Gate) Refund(now clock.Time, apikey, endpoint string, r Receipt) {
	if m := g.key(apikey, endpoint, false); m != nil {
		m.Refund(now, r)
	}
}

// Apply puts other limits into force at now, for every key that is known and
// that will be. A key whose endpoint has no limits any more is forgotten.
func (g *Gate) Apply(now clock.Time, l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits = l
	for k, m := range g.keys {
		if limits, ok := l.of(k.endpoint); ok {
			m.Apply(now, limits...)
		} else {
			delete(g.keys, k)
		}
	}
}

// Forget drops a key, as an eviction does: it is a full one from then on.
func (g *Gate) Forget(apikey, endpoint string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.keys, name{apikey, endpoint})
}

// Len returns how many keys are known.
func (g *Gate) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.keys)
}

// key returns the key of apikey at endpoint, a passing one if it is not known
// and not to be kept. nil if no limits hold for it.
func (g *Gate) key(apikey, endpoint string, keep bool) *Multi {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := name{apikey, endpoint}
	if m := g.keys[k]; m != nil {
		return m
	}
	limits, ok := g.limits.of(endpoint)
	if !ok {
		return nil
	}
	m := NewMulti(limits...)
	m.SetBack = g.SetBack
	if keep {
		g.keys[k] = m
	}
	return m
}

func (l Limits) of(endpoint string) ([]Limit, bool) {
	if limits, ok := l[endpoint]; ok {
		return limits, true
	}
	limits, ok := l[Default]
	return limits, ok
}
