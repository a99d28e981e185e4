package tickgate

import (
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/shard"
)

// Request is one request of a batch: n tokens for APIKey at Endpoint.
type Request struct {
	APIKey, Endpoint string
	N                int64
}

// chunk is how many requests of a batch are under way at once: enough cache
// misses to keep the memory busy, few enough that their lines stay in the first
// cache level.
const chunk = 64

// TakeBatch decides reqs in order, each as [Gate.TakeAt] would, and puts the
// decisions into out. If their lengths differ, the shorter one counts.
//
// It goes over the requests three times: first it hashes all names, then it
// touches all keys' memory, so that the cache misses overlap, then it decides.
func (g *Gate) TakeBatch(now clock.Time, reqs []Request, out []Decision) {
	n := min(len(reqs), len(out))
	for from := 0; from < n; from += chunk {
		to := min(from+chunk, n)
		g.takeChunk(now, reqs[from:to], out[from:to])
	}
}

func (g *Gate) takeChunk(now clock.Time, reqs []Request, out []Decision) {
	var (
		keys     [chunk]shard.Key
		policies [chunk]*shard.Policy // nil: to be decided by name
	)
	r := g.routes.Load()
	for i := range reqs {
		q := &reqs[i]
		p, named := r.find(q.Endpoint)
		if named && q.N >= 0 && !badName(q.APIKey) {
			policies[i] = p
			keys[i] = p.Named(q.APIKey)
		}
	}
	for i := range reqs {
		if policies[i] != nil {
			g.table.Touch(&keys[i])
		}
	}
	for i := range reqs {
		q, d := &reqs[i], &out[i]
		*d = Decision{}
		if p := policies[i]; p != nil {
			g.take(d, p, &keys[i], now, q.N)
		} else {
			g.takeAt(d, now, q.APIKey, q.Endpoint, q.N)
		}
	}
}
