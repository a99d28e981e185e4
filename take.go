package tickgate

import (
	"runtime"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Allow is AllowN with one token.
func (g *Gate) Allow(apikey, endpoint string) bool {
	return g.AllowN(apikey, endpoint, 1)
}

// AllowN reports whether n tokens could be taken, and takes them: shorthand for
// TakeAt(clock now, apikey, endpoint, n).Allowed.
func (g *Gate) AllowN(apikey, endpoint string, n int64) bool {
	r := g.routes.Load()
	p, named := r.find(endpoint)
	switch {
	case p == nil || n <= 0 || badName(apikey) || badName(endpoint):
		return g.TakeAt(g.Now(), apikey, endpoint, n).Allowed
	case !named:
		return g.allowOther(p, apikey, endpoint, n)
	}
	return g.allowNamed(p, apikey, n)
}

// allowNamed decides for an endpoint that a policy names, and counts.
func (g *Gate) allowNamed(p *shard.Policy, apikey string, n int64) bool {
	v := g.table.AllowNamed(p, apikey, &g.ticker, n)
	runtime.KeepAlive(g)
	switch {
	case v == shard.Allowed:
		p.CountAllowed()
		return true
	case v == shard.Limited && p.Plain():
		p.CountDenied()
		return false
	}
	return passes(p, v)
}

// allowOther decides for an endpoint that no policy names. Most pairs of names are
// short, and clearing room for the longest ones would cost as much as deciding.
func (g *Gate) allowOther(p *shard.Policy, apikey, endpoint string, n int64) bool {
	var buf [96]byte
	if len(apikey)+len(endpoint) > len(buf) {
		return g.TakeAt(g.Now(), apikey, endpoint, n).Allowed
	}
	k := p.Unnamed(apikey, endpoint, buf[:])
	return g.allow(p, &k, g.Now(), n)
}

// allow decides and counts. The gate is kept alive while it does: the table's
// memory, which the collector does not see, goes with it.
func (g *Gate) allow(p *shard.Policy, k *shard.Key, now clock.Time, n int64) bool {
	v := g.table.Allow(p, k, now, n)
	runtime.KeepAlive(g)
	switch {
	case v == shard.Allowed:
		p.CountAllowed()
		return true
	case v == shard.Limited && p.Plain():
		p.CountDenied()
		return false
	}
	return passes(p, v)
}

// Take is TakeAt with the clock's time.
func (g *Gate) Take(apikey, endpoint string, n int64) (d Decision) {
	g.takeAt(&d, g.Now(), apikey, endpoint, n)
	return d
}

// TakeAt takes n tokens for apikey at endpoint, from every limit of the policy or
// from none, and explains the decision. now is a reading of the gate's clock.
//
// n == 0 looks without taking: nothing changes, nothing is counted, and a key
// that is not known is answered for as a full one. n < 0 is a BadRequest.
func (g *Gate) TakeAt(now clock.Time, apikey, endpoint string, n int64) (d Decision) {
	g.takeAt(&d, now, apikey, endpoint, n)
	return d
}

func (g *Gate) takeAt(d *Decision, now clock.Time, apikey, endpoint string, n int64) {
	p, named := g.routes.Load().find(endpoint)
	switch {
	case n < 0 || badName(apikey) || badName(endpoint):
		g.bad.Inc()
		d.refuse(BadRequest)
	case p == nil:
		g.stray.Inc()
		d.refuse(NoPolicy)
	case named:
		k := p.Named(apikey)
		g.take(d, p, &k, now, n)
	default:
		g.takeOther(d, p, now, apikey, endpoint, n)
	}
}

// takeOther decides for an endpoint that no policy names. The two names are
// joined on the stack, which is why this is a function of its own.
//
//go:noinline
func (g *Gate) takeOther(d *Decision, p *shard.Policy, now clock.Time, apikey, endpoint string, n int64) {
	var buf [2 * maxName]byte
	k := p.Unnamed(apikey, endpoint, buf[:])
	g.take(d, p, &k, now, n)
}

// take decides, counts and explains.
func (g *Gate) take(d *Decision, p *shard.Policy, k *shard.Key, now clock.Time, n int64) {
	v, plan, word, at, late, slot := g.table.TakeNear(p, k, now, n)
	if v == shard.Elsewhere {
		v = g.takeSlowly(d, p, k, now, &shard.Ask{N: n})
	} else {
		d.one(g.number, v, plan, word, slot, at, late, n)
	}
	runtime.KeepAlive(g)
	conclude(d, p, v, n > 0)
}

// takeSlowly decides and explains whatever the case is.
func (g *Gate) takeSlowly(d *Decision, p *shard.Policy, k *shard.Key, now clock.Time, a *shard.Ask) shard.Verdict {
	var r shard.Result
	v := g.table.Take(p, k, now, a, &r)
	decide(d, g.number, v, &r, a.N)
	return v
}
