package redisync

import (
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

const (
	beatEvery = time.Second
	beatTTL   = 3 * time.Second
)

// beat tells the other nodes, through Redis, that this one is there.
func (e *engine) beat(now clock.Time) {
	e.nextBeat = now.Add(time.Duration((.9 + .2*e.rand.Float64()) * float64(beatEvery)))
	key := NodesKey(e.Prefix)
	b := e.take(forHeartbeat, e.laneOf(key))
	if b == nil {
		return
	}
	e.beating = true
	b.calls = append(b.calls, Call{Key: key, Args: e.heartbeat()})
	e.launch(b, now)
}

func (e *engine) heartbeat() []string {
	return HeartbeatArgs{Node: e.slot, TTL: beatTTL.Milliseconds()}.Args()
}

// laneOf returns the lane of a key.
func (e *engine) laneOf(key string) int {
	if e.laner == nil {
		return 0
	}
	return min(len(e.lanes)-1, max(0, e.laner.Lane(key)))
}

// heard takes the answer to a heartbeat: how many nodes there are.
func (e *engine) heard(b *batch, now clock.Time) {
	e.beating = false
	e.stats.Debt, e.debt = e.debt, 0
	e.stats.Fullest, e.stats.full = e.stats.full, 0
	e.setRetry()
	if b.replies[0].Err != nil {
		return
	}
	a, err := ParseHeartbeat(b.replies[0].Values)
	if err != nil {
		return
	}
	n := max(1, a.Nodes, int64(e.Nodes))
	if n >= e.nodes {
		e.fewer = 0
	} else if e.fewer++; e.fewer < fewerBeats {
		return
	}
	e.fewer = 0
	e.setNodes(n)
}

// fewerBeats is how many heartbeats in a row must tell of fewer nodes: after a Redis was
// empty, or stood still, the others are heard of one by one.
const fewerBeats = 3

// setNodes notes how many nodes there are.
func (e *engine) setNodes(n int64) {
	if n == e.nodes {
		return
	}
	e.Log.Info("redisync: number of nodes", "nodes", n)
	e.nodes = n
	e.setFirst()
}

// setRetry has a call that was denied because Redis has not answered yet be told to come
// back when it probably has: it takes a tick to be noticed, and a round trip.
func (e *engine) setRetry() {
	after := max(time.Millisecond, min(e.Interval, e.tick+e.rtt.quantile(.5)))
	if e.fuse {
		after = e.Interval
	}
	for endpoint := range e.Policies {
		e.ledger.SetRetry(endpoint, after)
	}
}

// setFirst sets what a key that Redis has not answered for yet may use: the N-th part
// of the smallest capacity, one token at least, so that together the nodes do not use
// more than a full limit before any of them has heard of the others. The credit bounds
// it in any case.
func (e *engine) setFirst() {
	for _, p := range e.set {
		if e.Policies[p.Endpoint] != Credit {
			continue
		}
		if least := smallest(p); least > 0 {
			e.ledger.SetFirst(p.Endpoint, max(1, least/e.nodes))
		}
	}
}

// smallest returns the least capacity of the limits of p that are shared; 0: none is.
func smallest(p policy.Policy) (least int64) {
	for _, l := range p.Limits {
		if c := l.Capacity(); l.Window == policy.TokenBucket && (least == 0 || c < least) {
			least = c
		}
	}
	return least
}

// refreshEvery is how often the gate is asked for its policies. Records find a change at
// their next call; strict calls, and keys that nobody used yet, that much later.
const refreshEvery = 100 * time.Millisecond

// refresh looks whether the gate's policies changed. If so they have a new version,
// which wins over those of nodes that were not told yet.
func (e *engine) refresh() {
	set := e.policies()
	if e.set != nil && set.Equal(e.set) {
		return
	}
	if e.set != nil {
		e.version = max(e.version+1, e.wall())
	}
	e.set = set
	e.divide()
	if e.changed != nil {
		e.changed(set, e.version)
	}
	for _, t := range e.terms {
		t.checked = e.now.Add(-recheck) // look again at its next call
	}
	for _, r := range e.records {
		// What Redis said before may have been in terms of another capacity.
		if r.look = r.lease == nil && !e.closing; r.look && r.in == &e.idle {
			r.class = 0
			e.wait(r)
		}
	}
	e.setFirst()
}

// divide notes what stands for each limit in keys.
func (e *engine) divide() {
	e.parts = make(map[string]map[string]string, len(e.set))
	for _, p := range e.set {
		parts := make(map[string]string, len(p.Limits))
		unnamed := ""
		for _, l := range p.Limits {
			parts[l.Label()] = limitPart(p, l)
			if l.Window == policy.TokenBucket && l.Name == "" {
				unnamed = l.Label()
			}
		}
		e.parts[p.Endpoint] = parts
		if unnamed != "" && parts[unnamed] != OnlyLimit && e.Policies[p.Endpoint] != Local && e.hush.may("unnamed "+p.Endpoint, e.now) {
			e.Log.Warn("redisync: a policy has several limits, and not all have names: processes that have another rate do not share them", "endpoint", p.Endpoint, "limit", unnamed)
		}
	}
}
