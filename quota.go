package tickgate

import (
	"runtime"
	"time"

	"github.com/tickgate/tickgate/shard"
)

// Quota is what one apikey has used at one endpoint, and what is left.
type Quota struct {
	APIKey   string
	Endpoint string
	Policy   string // the endpoint of the policy that answers: Endpoint, or "default"

	Blocked   bool          // by [Gate.Block]
	BannedFor time.Duration // by [Handle.Ban]; 0: not banned

	Limits []LimitQuota // in the order of the policy
}

// LimitQuota is a Quota in one limit. Where the budget is shared ([Gate.Share]), it is
// what this process knows of it.
type LimitQuota struct {
	Limit      string // its name
	Capacity   int64  // tokens
	Used       int64  // tokens, rounded up: more than the capacity in debt
	Remaining  int64  // whole tokens, those for urgent calls included
	ResetAfter time.Duration
}

// Usage tells what apikey has used, at every endpoint at which the gate knows it: one
// that was not asked for, or whose key was dropped as it was full, is missing, and all
// of its quota is there.
//
// It goes over all keys, in some 10 ns each; it is for operators, not for requests. No
// decision waits for it.
func (g *Gate) Usage(apikey string) []Quota {
	if badName(apikey) {
		return nil
	}
	var all []Quota
	g.each(apikey, func(q *Quota) bool {
		own := *q
		own.Limits = append([]LimitQuota(nil), q.Limits...)
		all = append(all, own)
		return true
	})
	return all
}

// EachUsage calls each for every key that the gate knows, in no order, until it returns
// false: a key that comes or goes meanwhile may be missing. The Quota and its Limits are
// used again for the next key. It costs some 150 ns a key. No decision waits for it.
func (g *Gate) EachUsage(each func(*Quota) bool) { g.each("", each) }

func (g *Gate) each(apikey string, each func(*Quota) bool) {
	g.mu.Lock()
	names := make(map[*shard.Policy]string, len(g.known))
	for name, p := range g.known {
		names[p] = name
	}
	g.mu.Unlock()
	var q Quota
	g.table.Each(apikey, g.Now(), func(l *shard.Levels) bool {
		q.APIKey, q.Endpoint, q.Policy = l.APIKey, l.Endpoint, names[l.Policy]
		if q.Endpoint == "" {
			q.Endpoint = q.Policy
		}
		q.Blocked, q.BannedFor = l.Blocked, time.Duration(l.Banned)
		q.Limits = q.Limits[:0]
		for _, n := range l.Limits {
			q.Limits = append(q.Limits, LimitQuota{n.Name, n.Capacity, n.Used, n.Remaining, time.Duration(n.Reset)})
		}
		return each(&q)
	})
	runtime.KeepAlive(g)
}
