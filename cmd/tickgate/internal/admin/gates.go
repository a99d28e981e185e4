package admin

import "github.com/tickgate/tickgate"

// gate is one of the gates of the process.
type gate struct {
	name   string
	own    *tickgate.Gate
	usage  func(each func(*tickgate.Quota) bool)
	apikey func(caller string) string // what it calls a caller
}

// gates are all of them, the one of the configuration first.
func (c *Config) gates() []gate {
	all := []gate{{c.GateName, c.Gate, c.Gate.EachUsage, c.Name}}
	for _, b := range c.Beside {
		all = append(all, gate{b.Name, b.Gate, b.Gate.EachUsage, func(caller string) string { return caller }})
	}
	return all
}

// known is a gate and what the page calls a caller of it.
type known struct {
	Gate string `json:"gate"`
	Key  string `json:"key,omitempty"` // "": everyone
}

// label is an endpoint as the page shows it: those of gates beside begin with the gate.
func (a *admin) label(gate, endpoint string) string {
	if gate == "" || gate == a.cfg.GateName {
		return endpoint
	}
	return gate + ": " + endpoint
}

// total is what all gates count together.
func total(each []tickgate.Stats) (all tickgate.Stats) {
	for i := range each {
		s := &each[i]
		all.Hits += s.Hits
		all.Misses += s.Misses
		all.Size += s.Size
		all.Capacity += s.Capacity
		all.Evictions.Idle += s.Evictions.Idle
		all.Evictions.Forced += s.Evictions.Forced
		all.RollbacksLost += s.RollbacksLost
		all.NoPolicy += s.NoPolicy
		all.BadRequests += s.BadRequests
	}
	if n := all.Hits + all.Misses; n > 0 {
		all.HitRate = float64(all.Hits) / float64(n)
	}
	return all
}
