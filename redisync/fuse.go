package redisync

import "github.com/tickgate/tickgate/clock"

// judge opens and closes the fuse: open, every call failed for MaxAge. Heartbeats are
// calls, so it opens where nobody uses anything too. What a node does without Redis is
// decided for each account ([engine.away]); the fuse is the word on all of them, and
// under the rule Closed it shuts endpoints before their credit is spent.
func (e *engine) judge(now clock.Time) {
	open := e.failing != 0 && now.Sub(e.failing) >= e.MaxAge
	if open == e.fuse {
		return
	}
	e.fuse = open
	if open {
		e.stats.FuseOpened++
		e.Log.Error("redisync: Redis is away", "rule", e.Away.String(), "for", now.Sub(e.failing))
	} else {
		e.Log.Info("redisync: Redis is back")
	}
	e.shut()
}

// shut denies ordinary calls on credit or not, as fuse and rule want it. While Close
// flushes, nothing more is to be used.
func (e *engine) shut() {
	for endpoint, m := range e.Policies {
		if m == Credit {
			e.ledger.Shut(endpoint, e.closing || e.fuse && e.Away == Closed)
		}
	}
}
