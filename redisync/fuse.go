package redisync

import (
	"strconv"

	"github.com/tickgate/tickgate/clock"
)

// judge opens and closes the fuse: open, nothing was heard of any lane for MaxAge, though
// all were asked; heartbeats and pulses see to that where nobody uses anything. A server
// that refuses is there. What a node does without Redis is decided for each account
// ([engine.away]); the fuse is the word on all of them, and under the rule Closed it shuts
// endpoints before their credit is spent.
func (e *engine) judge(now clock.Time) {
	open, since := true, clock.Time(0)
	for i := range e.lanes {
		l := &e.lanes[i]
		if l.dead == 0 && l.pulse == "" && i != e.home {
			continue // no key is in it
		}
		open = open && l.dead != 0 && now.Sub(l.dead) >= e.MaxAge
		since = max(since, l.dead)
	}
	if open == e.fuse {
		return
	}
	e.fuse = open
	if open {
		e.stats.FuseOpened++
		e.Log.Error("redisync: Redis is away", "rule", e.Away.String(), "for", now.Sub(since))
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

// findPulses looks for a key of each lane. Nothing is ever there: what is called for it is
// that a node leaves that never was.
func (e *engine) findPulses() {
	e.home = e.laneOf(NodesKey(e.Prefix))
	for i, left := 0, len(e.lanes); left > 0 && i < 64*len(e.lanes); i++ {
		key := e.Prefix + ":pulse:" + strconv.Itoa(i)
		if l := &e.lanes[e.laneOf(key)]; l.pulse == "" {
			l.pulse = key
			left--
		}
	}
}

// pulse asks lanes that nobody else asks whether they are there: one that is down at each
// probe that no account has taken, others every second, or oftener while any is silent,
// so that the fuse learns of all in time.
func (e *engine) pulse(now clock.Time) {
	every := beatEvery
	for i := range e.lanes {
		if e.lanes[i].dead != 0 {
			every = min(every, e.MaxAge/4)
			break
		}
	}
	for i := range e.lanes {
		l := &e.lanes[i]
		if l.pulse == "" || !(l.probe(now) || !l.down && l.out == 0 && now.Sub(l.asked) >= every && i != e.home) {
			continue
		}
		b := e.take(forPulse, i)
		if b == nil {
			return
		}
		b.probe = l.down
		b.calls = append(b.calls, Call{Key: l.pulse, Args: LeaveArgs{Node: e.slot}.Args()})
		e.launch(b, now)
	}
}
