package load

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// apply are decisions while Apply replaces the policies every millisecond.
func apply() []Case {
	fast, slow := policyOf(endpoint, "1000000000/s"), policyOf(endpoint, "500000000/s")
	other := policyOf(policy.DefaultEndpoint, wide)
	rolling, two := policyOf(endpoint, "1000/100us rolling name=limit1"), policyOf(endpoint, wide, "60000000000/m")
	return []Case{
		{"changing rate", "every way", Some, changing(policy.Set{fast, other}, policy.Set{slow, other})},
		{"changing kind", "every way", Some, changing(policy.Set{fast, other}, policy.Set{rolling, other}, policy.Set{two, other})},
		{"coming and going", "every way", Some, changing(policy.Set{fast, other}, policy.Set{other})},
	}
}

// changing puts one set after the other into force, and asks in every way.
func changing(sets ...policy.Set) func(int) (*Driver, error) {
	return func(workers int) (*Driver, error) {
		g, d, err := openConfig(tickgate.Config{MaxKeys: 2 * hotKeys, Policies: sets[0]})
		if err != nil {
			return nil, err
		}
		hs, err := d.handles(g, "session", "account", "firm")
		if err != nil {
			return nil, err
		}
		group, err := tickgate.Join(hs...)
		if err != nil {
			return nil, err
		}
		keys, c := names("", hotKeys), clock.Default()
		d.Calls = func(worker int) func(int) int {
			e := g.Endpoint(endpoint)
			reqs, out := make([]tickgate.Request, 32), make([]tickgate.Decision, 32)
			for i := range reqs {
				reqs[i] = tickgate.Request{APIKey: keys[(worker*len(reqs)+i)%len(keys)], Endpoint: endpoint, N: 1}
			}
			i := worker * len(keys) / workers
			return func(n int) (allowed int) {
				count := func(ok bool) {
					if ok {
						allowed++
					}
				}
				for done := 0; done < n; done += 64 {
					for range 4 {
						k := keys[i]
						if i++; i == len(keys) {
							i = 0
						}
						count(g.Allow(k, endpoint))
						count(g.Take(k, endpoint, 1).Allowed)
						count(e.Allow(k))
						count(hs[0].Allow())
						count(hs[1].Take(1).Allowed)
						count(hs[2].TakeUrgentAt(c.Now(), 1).Allowed)
						count(group.AllowAt(c.Now(), 1))
						count(group.TakeAt(c.Now(), 1).Allowed)
					}
					g.TakeBatch(c.Now(), reqs, out)
					for i := range out {
						count(out[i].Allowed)
					}
				}
				return allowed
			}
		}
		d.Beside = func(stop <-chan struct{}) error {
			every := time.NewTicker(time.Millisecond)
			defer every.Stop()
			for i := 1; ; i++ {
				select {
				case <-stop:
					return nil
				case <-every.C:
				}
				if err := g.Apply(sets[i%len(sets)]); err != nil {
					return err
				}
			}
		}
		return d, nil
	}
}
