package redisync

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// perTick is the most parked records that one tick looks at: half a millisecond.
const perTick = 2048

// away reports whether nothing was heard of a record for so long that its view of the
// budget is not to be trusted.
func (e *engine) away(r *record, now clock.Time) bool {
	if r.since != 0 && now.Sub(r.since) >= e.MaxAge {
		return true
	}
	l := &e.lanes[r.lane]
	return l.down && now.Sub(l.since) >= e.MaxAge
}

// tendParked goes round the records that wait for Redis: it grants to those that are
// away, and lets those go on that may be sent again.
func (e *engine) tendParked(now clock.Time) {
	for n := min(e.parked.n, perTick); n > 0; n-- {
		r := e.parked.head
		e.parked.push(r)
		if r.lease == nil && e.Away != Closed && e.away(r, now) && !e.grant(r, now) {
			continue
		}
		l := &e.lanes[r.lane]
		if now >= r.retry && (l.probe(now) || !l.down && l.out < l.window) {
			r.class = max(r.class, urgent)
			e.wait(r)
		}
	}
}

// grant settles, by the rule for when Redis is away, what a record has pending. It
// reports false where the record is none any more, or not parked.
//
// What was pending when that began is taken off the level here already. Redis is owed
// it, whatever the share says, and however many of the calls that told of it were
// executed.
func (e *engine) grant(r *record, now clock.Time) bool {
	if !e.confirm(r, now) {
		return false
	}
	u, ok := e.ledger.Open(r.id)
	if !ok {
		e.forget(r)
		return false
	}
	if r.share == nil {
		r.share = newShare(u.Level, u.Pending, r.terms.policy.C, e.nodes, now)
	}
	s := r.share
	s.advance(&r.terms.policy, e.nodes, now)
	s.see(u.Pending)
	n := u.Pending
	if e.Away == Share {
		n = s.room(n, r.terms.Credit)
	}
	if n == 0 {
		return true
	}
	// Where more was told than is settled then, a refund must not lower it.
	done := n == u.Pending && r.sent <= r.settled+r.owed+s.before
	if !e.ledger.Settle(r.id, tickgate.Settlement{Used: n, Keep: true, Done: done}) {
		return true // the next round sees it again, or that the key is gone
	}
	before := s.grant(n)
	r.owed += before
	e.stats.Granted += uint64(n - before)
	return true
}
