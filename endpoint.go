package tickgate

import (
	"github.com/tickgate/tickgate/clock"
)

// Endpoint is an endpoint of a gate, resolved once. It is a small value to copy,
// for any number of goroutines, and follows [Gate.Apply].
type Endpoint struct {
	g    *Gate
	name string
	at   *routes // where the route below was found
	to   *route  // nil where no policy names the endpoint
}

// Endpoint resolves an endpoint. It need not be one that a policy names.
func (g *Gate) Endpoint(name string) Endpoint {
	r := g.routes.Load()
	return Endpoint{g: g, name: name, at: r, to: r.byName[name]}
}

// Allow is AllowN with one token.
func (e Endpoint) Allow(apikey string) bool { return e.AllowN(apikey, 1) }

// AllowN is [Gate.AllowN] for this endpoint.
func (e Endpoint) AllowN(apikey string, n int64) bool {
	if e.to == nil || n <= 0 || badName(apikey) || e.g.routes.Load() != e.at {
		return e.moved(apikey, n)
	}
	return e.g.allowNamed(e.to.policy, apikey, n)
}

// moved decides by name: the endpoint has no policy of its own, or the policies
// were replaced since it was resolved.
func (e Endpoint) moved(apikey string, n int64) bool {
	if e.g == nil {
		return false
	}
	return e.g.AllowN(apikey, e.name, n)
}

// Take is TakeAt with the clock's time.
func (e Endpoint) Take(apikey string, n int64) (d Decision) {
	if e.g == nil {
		d.refuse(BadRequest)
		return d
	}
	e.g.takeAt(&d, e.g.Now(), apikey, e.name, n)
	return d
}

// TakeAt is [Gate.TakeAt] for this endpoint.
func (e Endpoint) TakeAt(now clock.Time, apikey string, n int64) (d Decision) {
	if e.g == nil {
		d.refuse(BadRequest)
		return d
	}
	e.g.takeAt(&d, now, apikey, e.name, n)
	return d
}
