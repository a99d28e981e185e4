package load

import (
	"strings"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/policy"
)

const (
	// tightKeys is the MaxKeys of a gate that evicts, and churnKeys how many keys
	// come, so that one that comes again has long been dropped.
	tightKeys = 4096
	churnKeys = 8 * tightKeys
)

// churn are calls of keys that the gate does not hold. Where all keys owe, a call may
// be denied as Full while another makes the same room.
func churn() []Case {
	long := strings.Repeat("k", 40)
	return []Case{
		fresh("rate", "new key, full ones go", Allowed, wide, "", tickgate.EvictIdle),
		fresh("rate", "new long key, full ones go", Allowed, wide, long, tickgate.EvictIdle),
		fresh("slow", "new key, all owe", Some, "2/d burst=2", "", tickgate.EvictIdle),
		fresh("slow", "new key, no room", Some, "2/d burst=2", "", tickgate.RejectNew),
		fresh("aligned", "new key, all owe", Some, "5/s aligned", "", tickgate.EvictIdle),
	}
}

// fresh is a case in which every key is new. Half of the calls explain themselves.
func fresh(name, path string, want Outcome, limit, prefix string, onFull tickgate.OnFull) Case {
	return Case{name, path, want, func(workers int) (*Driver, error) {
		g, d, err := openConfig(tickgate.Config{
			MaxKeys: tightKeys, OnFull: onFull,
			Policies: policy.Set{policyOf(endpoint, limit), policyOf(policy.DefaultEndpoint, limit)},
		})
		if err != nil {
			return nil, err
		}
		d.Calls = each(workers, names(prefix, churnKeys), func(k string) bool {
			if k[len(k)-1]&1 == 0 {
				return g.Allow(k, endpoint)
			}
			return g.Take(k, "unlisted", 1).Allowed
		})
		return d, nil
	}}
}
