package load

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// hotKeys is how many keys the paths by name go over.
const hotKeys = 4096

// hot are the ways of asking for one token.
func hot() []Case {
	const rate = "rate"
	limits := []string{wide}
	return []Case{
		handled(rate, "handle-allow-at", Allowed, func(h tickgate.Handle, now clock.Time) bool { return h.AllowAt(now, 1) }, wide),
		handled(rate, "handle-allow", Allowed, func(h tickgate.Handle, _ clock.Time) bool { return h.Allow() }, wide),
		handled(rate, "handle-take-at", Allowed, func(h tickgate.Handle, now clock.Time) bool { return h.TakeAt(now, 1).Allowed }, wide),
		keyed(rate, "endpoint-allow", Allowed, hotKeys, limits, func(g *tickgate.Gate) (func(string) bool, error) {
			e := g.Endpoint(endpoint)
			return e.Allow, nil
		}),
		keyed(rate, "gate-allow", Allowed, hotKeys, limits, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Allow(k, endpoint) }, nil
		}),
		keyed(rate, "gate-allow, one key", Allowed, 1, limits, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Allow(k, endpoint) }, nil
		}),
		keyed(rate, "gate-take", Allowed, hotKeys, limits, func(g *tickgate.Gate) (func(string) bool, error) {
			return func(k string) bool { return g.Take(k, endpoint, 1).Allowed }, nil
		}),
		{rate, "take-batch", Allowed, batch},
		{"default", "gate-allow", Allowed, unlisted(func(g *tickgate.Gate, k string) bool { return g.Allow(k, "GET /unlisted") })},
		{"default", "gate-take", Allowed, unlisted(func(g *tickgate.Gate, k string) bool { return g.Take(k, "GET /unlisted", 1).Allowed })},
	}
}

// batch asks for one token of each of 64 keys in one call.
func batch(workers int) (*Driver, error) {
	g, d, err := open(2*hotKeys, wide)
	if err != nil {
		return nil, err
	}
	keys, c := names("", hotKeys), clock.Default()
	d.Calls = func(worker int) func(int) int {
		reqs, out := make([]tickgate.Request, 64), make([]tickgate.Decision, 64)
		next := worker * len(keys) / workers
		return func(n int) (allowed int) {
			for done := 0; done < n; done += len(reqs) {
				for i := range reqs {
					reqs[i] = tickgate.Request{APIKey: keys[next], Endpoint: endpoint, N: 1}
					next = (next + 1) % len(keys)
				}
				g.TakeBatch(c.Now(), reqs, out)
				for i := range out {
					if out[i].Allowed {
						allowed++
					}
				}
			}
			return allowed
		}
	}
	return d, nil
}

// unlisted asks at an endpoint that no policy names.
func unlisted(allow func(*tickgate.Gate, string) bool) func(int) (*Driver, error) {
	return func(workers int) (*Driver, error) {
		g, d, err := openConfig(tickgate.Config{Policies: policy.Set{policyOf(policy.DefaultEndpoint, wide)}})
		if err != nil {
			return nil, err
		}
		d.Calls = each(workers, names("", hotKeys), func(k string) bool { return allow(g, k) })
		return d, nil
	}
}
