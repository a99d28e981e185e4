package redisync

import (
	"errors"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// mostTotal is the total from which on a record begins a new epoch: Redis counts in
// doubles, whole up to 2^53.
const mostTotal = 1 << 50

// keepMS is how long, in ms, Redis keeps a full limit that nobody uses, and remembers a
// node that is silent.
const keepMS = 60_000

// loadCredit puts the call of a record on credit into b. It reports false where there
// is nothing to tell.
func (e *engine) loadCredit(b *batch, r *record, now clock.Time) bool {
	u, ok := e.ledger.Open(r.id)
	if !ok {
		e.forget(r)
		return false
	}
	if u.Pending == 0 && r.owed == 0 && !r.unknown() && r.share == nil && !r.look {
		// It was all given back before anybody was told.
		e.ledger.Settle(r.id, tickgate.Settlement{Keep: true, Done: true})
		e.rest(r)
		return false
	}
	if r.settled > mostTotal && !r.unknown() {
		e.renew(r)
	}
	p := &r.terms.policy
	total := r.settled + r.owed
	r.opened = u.Pending
	switch {
	case r.share == nil:
		total += u.Pending
	case b.probe: // what it is told now may be lost once more, and is less later
		r.opened = 0
	default:
		r.share.advance(p, e.nodes, now)
		r.share.see(u.Pending)
		total += r.share.charge()
	}
	total = max(total, r.sent)
	b.calls = append(b.calls, Call{Key: r.key, Args: CreditArgs{
		Slot: e.slot, Epoch: r.epoch, Total: total, Base: max(0, r.settled), Policy: *p,
		Keep: keepMS, Est: min(p.C, u.Level+(total-r.settled)*Unit), Debt: e.mostDebt(r.terms),
	}.Args()})
	b.flights = append(b.flights, flight{r: r, total: total})
	r.dirty, r.look = false, false
	e.stats.full = max(e.stats.full, float64(u.Pending)/float64(max(1, r.terms.Credit)))
	return true
}

// mostDebt is the debt, in millionths of a token, beyond which Redis forgives. It is
// twice what N nodes can owe with their credits and their shares, so that nothing is
// forgiven but after a fault that nobody reckoned with.
func (e *engine) mostDebt(t *terms) int64 {
	return min(2*(t.policy.C+max(2, e.nodes)*t.Credit*Unit), 1<<52)
}

// landCredit settles a record with Redis' answer. The level that Redis told is as of
// its own time; what it refilled since is not counted here, so the view is never
// better than the truth was.
func (e *engine) landCredit(r *record, f *flight, reply Reply, b *batch, now clock.Time) {
	a, err := e.readCredit(r, reply, now)
	if err != nil {
		if errors.Is(err, ErrUnknown) {
			r.sent = max(r.sent, f.total)
		}
		e.miss(r, err, now)
		return
	}
	if a.Status == Stale { // somebody else has this node's name, or its field was tampered with
		e.stats.Stale++
		e.renew(r)
		e.enqueue(r)
		return
	}
	e.stats.Acked++
	settled := max(a.Total, f.total)
	e.stats.Charged += uint64(settled - r.settled)
	probed := b.probe && r.share != nil
	r.settled, r.owed, r.sent = settled, 0, 0
	r.acked, r.fails, r.retry = true, 0, 0
	if probed {
		// Redis is back, and what it missed is known for certain. Now the rest: what was
		// used here since, and what of the share is to be charged.
		r.class = urgent
		e.wait(r)
		return
	}
	r.share = nil
	if !e.ledger.Settle(r.id, tickgate.Settlement{Used: r.opened, Level: a.Level, Done: true}) {
		// Lost on the way, as it were. Redis has the tokens, the gate still calls them
		// pending; forget, in enqueue, if it is the key that is gone.
		r.settled, r.sent = settled-r.opened, settled
		e.enqueue(r)
		return
	}
	e.lag.add(now.Sub(r.since))
	r.since = 0
	r.full = r.terms.fullAt(a.Level, now)
	if r.dirty || r.look {
		r.dirty = false
		e.enqueue(r)
		return
	}
	e.rest(r)
}

// readCredit parses an answer, and counts what it says beside the level.
func (e *engine) readCredit(r *record, reply Reply, now clock.Time) (CreditReply, error) {
	if reply.Err != nil {
		return CreditReply{}, reply.Err
	}
	a, err := ParseCredit(reply.Values)
	if err != nil {
		return a, errors.Join(ErrUnknown, err)
	}
	e.created(r, a.Created)
	e.stats.Forgiven += uint64(a.Forgiven)
	e.debt = max(e.debt, -a.Level)
	e.heed(r.terms, a.Status, &a.Policy, now)
	return a, nil
}

// created counts keys that were not there, and those that should have been.
func (e *engine) created(r *record, created bool) {
	if !created {
		return
	}
	e.stats.Created++
	if r.acked {
		e.stats.Lost++
	}
}

// heed notes whether Redis has a policy that is newer than ours, or ours is in force.
func (e *engine) heed(t *terms, s Status, p *Policy, now clock.Time) {
	n := name{e.listed(t.Endpoint), t.part}
	if s == OK && p.V == t.policy.V && e.inForce[n] != p.V {
		if e.inForce == nil {
			e.inForce = map[name]int64{}
		}
		e.inForce[n] = p.V
		e.Log.Info("redisync: put a policy in force for all nodes", "endpoint", n.endpoint, "limit", t.Limit, "since", time.UnixMilli(p.V).UTC())
	}
	if s != OlderPolicy {
		return
	}
	e.stats.Behind++
	if e.hush.may("behind "+n.endpoint+"\x00"+n.part, now) {
		e.Log.Warn("redisync: another node has a newer policy, or one as new; this node goes on with its own", "endpoint", n.endpoint, "limit", t.Limit)
	}
}
