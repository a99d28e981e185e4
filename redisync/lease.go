package redisync

import (
	"errors"
	"math"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// lease is what a record knows of the tokens that Redis granted it.
//
//	seen ───────────── granted in this epoch, and added to the gate's lease
//	   − left ──────── what the gate has of them still
//	   = gone ──────── spent or given back: what the next call carries
//
// All three only grow, so a call that is lost or repeated needs no care. What is given
// back is first taken from the gate, so nobody can spend it meanwhile.
//
// A lease ends MaxAge after its last call was sent, by this node's clock; the script
// holds it longer. At its end the gate spends nothing more, and what is left is dropped.
type lease struct {
	seen     int64
	returned int64
	until    clock.Time // 0: nothing was granted yet
	told     bool       // a call of this epoch was sent

	asked int64      // the most that a call wanted that is not answered
	size  int64      // tokens that it is worth to hold
	last  int64      // left after the last call, with what that brought
	rate  float64    // of use, tokens a nanosecond
	at    clock.Time // of the last call
	used  clock.Time // when some were last used or wanted
	wants bool       // a call was denied since the last one
	short bool       // the last answer brought less than was wanted
	tight bool       // others want tokens too, by the last answer
}

// idleTerms is for how many terms a lease that nobody uses is kept when nobody else
// wants it.
const idleTerms = 4

// firstLease is how many tokens are wanted at first: few enough that they are no loss if
// they are not used, and doubled ten times a lease is large.
const firstLease = 16

// begin forgets the counts of an epoch, but not how the lease is used.
func (l *lease) begin() { l.seen, l.returned, l.until, l.told, l.last, l.asked = 0, 0, 0, false, 0, 0 }

// notice takes what the gate says.
func (l *lease) notice(u tickgate.Usage, now clock.Time) {
	l.wants = l.wants || u.Wants
	if u.Wants || u.Left < l.last || l.used == 0 {
		l.used = now
	}
}

// weigh decides what is to be done with a lease that the gate has news of, or that was
// looked at.
func (e *engine) weigh(r *record, u tickgate.Usage) {
	l := r.lease
	l.notice(u, e.now)
	switch {
	case e.closing, l.wants, u.Left <= l.size/2 && u.Left < l.last:
		r.class = urgent
	case e.now >= l.until.Add(-e.MaxAge/2), u.Left > 2*l.size:
		r.class = 0
	default:
		r.since = 0
		e.held.push(r)
		return
	}
	if e.now < r.retry {
		e.parked.push(r)
		return
	}
	e.wait(r)
}

// plan says how many tokens are wanted beyond those left, and how many of those are to
// be given back. ahead is how far to look: the time between two calls and of one.
//
// The size is what is used in twice that time; it is doubled when a lease was used up
// too early, and halved when less than half of it was used.
func (l *lease) plan(u tickgate.Usage, most int64, ahead time.Duration, e *engine, now clock.Time) (want, back int64) {
	used := max(0, l.last-u.Left)
	if dt := now.Sub(l.at); l.at != 0 && dt > 0 {
		l.rate = (l.rate + float64(used)/float64(max(dt, ahead/8))) / 2
	}
	need := int64(math.Ceil(min(2*l.rate*float64(ahead), float64(most))))
	switch {
	case l.wants && l.size == 0:
		l.size = max(1, min(firstLease, most/(4*e.nodes)), need)
	case l.wants && !l.short: // if it was short, it was not for its size
		l.size = max(2*l.size, need)
	case 2*used < l.size && !l.wants:
		l.size = max(l.size/2, need, 1)
	default:
		l.size = max(l.size, need)
	}
	l.size = min(l.size, most)
	idle := now.Sub(l.used)
	switch {
	case e.closing, idle >= idleTerms*e.MaxAge, l.tight && idle >= e.MaxAge/4:
		l.size = 0
		return 0, max(0, u.Left)
	case u.Left > 2*l.size:
		return 0, u.Left - l.size
	}
	return max(0, l.size-u.Left), 0
}

// loadLease puts the call of a record on lease into b. It reports false where there is
// nothing to tell.
func (e *engine) loadLease(b *batch, r *record, now clock.Time) bool {
	u, ok := e.ledger.Open(r.id)
	if !ok {
		e.forget(r)
		return false
	}
	l := r.lease
	l.notice(u, now)
	if l.until != 0 && now >= l.until && u.Left > 0 {
		if !e.lapse(r, u.Left) {
			r.retry = now.Add(e.tick)
			e.parked.push(r)
			return false
		}
		u.Left = 0
	}
	p := &r.terms.policy
	most := min(r.terms.Capacity, mostLease)
	want, back := l.plan(u, most, e.Interval+e.rtt.quantile(.99), e, now)
	if back > 0 {
		if e.ledger.Settle(r.id, tickgate.Settlement{Grant: -back, Until: l.until}) {
			l.returned += back
			u.Left -= back
			e.stats.Returned += uint64(back)
		} else {
			back = 0 // used meanwhile: not idle, after all
		}
	}
	gone := min(l.seen, l.seen-u.Left)
	leave := want == 0 && l.size == 0 && gone == l.seen
	if leave && !l.told {
		e.forget(r)
		return false
	}
	b.calls = append(b.calls, Call{Key: r.key, Mark: r.mark, Args: LeaseArgs{
		Slot: e.slot, Epoch: r.epoch, Seen: l.seen, Gone: gone, Returned: l.returned, Want: min(want, most),
		Policy: *p, Keep: max(keepMS, 2*e.term()), Lease: e.term(), MarkTTL: MarkTTL, Leave: leave,
	}.Args()})
	b.flights = append(b.flights, flight{r: r, gone: gone, want: want, leave: leave})
	l.told, l.wants, l.at, l.last, l.asked = true, false, now, u.Left, max(l.asked, want)
	r.dirty = false
	return true
}

// mostLease is the most tokens that a gate holds of one lease, less room for a charge.
const mostLease = 1 << 27

// term is how long a lease lasts, in ms.
func (e *engine) term() int64 { return e.MaxAge.Milliseconds() }

// lapse drops what is left of a lease that has ended, and begins another epoch. It
// reports false if the gate says otherwise for the moment.
func (e *engine) lapse(r *record, left int64) bool {
	if !e.ledger.Settle(r.id, tickgate.Settlement{Grant: -left, Until: r.lease.until}) {
		return false
	}
	e.stats.Wasted += uint64(left)
	e.renew(r)
	return true
}

// landLease adds to the gate's lease what Redis granted.
func (e *engine) landLease(r *record, f *flight, reply Reply, b *batch, now clock.Time) {
	a, err := e.readLease(r, reply, now)
	if err != nil {
		e.miss(r, err, now)
		return
	}
	l := r.lease
	if a.Status == Stale || a.Gone > f.gone {
		// The call came after the lease's end as Redis counts, or somebody else has this
		// node's name. Nothing is held any more; all begins anew.
		if a.Status == Stale {
			e.stats.Stale++
		}
		u, ok := e.ledger.Open(r.id)
		if ok && u.Left > 0 && !e.lapse(r, u.Left) {
			e.miss(r, ErrUnknown, now)
			return
		}
		if !ok || u.Left <= 0 {
			e.renew(r)
		}
		e.enqueue(r)
		return
	}
	if a.Granted-l.seen > l.asked {
		e.miss(r, errors.Join(ErrUnknown, beyond("l1")), now)
		return
	}
	e.stats.Acked++
	l.asked = 0
	if f.leave && a.Gone == a.Granted && !r.dirty {
		e.forget(r)
		return
	}
	grant := max(0, a.Granted-l.seen)
	until := b.sent.Add(time.Duration(e.term()) * time.Millisecond)
	if !e.ledger.Settle(r.id, tickgate.Settlement{Grant: grant, Until: until, Done: true}) {
		e.enqueue(r) // the key is gone, or else the grant is told again
		return
	}
	l.seen, l.until = l.seen+grant, until
	l.last += grant
	l.tight, l.short = a.Wants > f.want, grant < f.want
	e.stats.Leased += uint64(grant)
	if r.since != 0 {
		e.lag.add(now.Sub(r.since))
	}
	r.acked, r.fails, r.retry, r.since = true, 0, 0, 0
	if l.short {
		r.retry = now.Add(e.pause(r.terms, f.want-grant, a.Level))
	}
	if r.dirty || e.closing {
		r.dirty = false
		e.enqueue(r)
		return
	}
	e.held.push(r)
}

// pause is how long it is not worth to ask again for tokens that were not there: until
// those, or a quarter of the capacity, are refilled; and an interval at most if there is
// anything, since others may give some back.
func (e *engine) pause(t *terms, tokens, level int64) time.Duration {
	d := min(e.Interval, refill(&t.policy, min(tokens, t.Capacity/4)*Unit))
	if level < Unit {
		d = max(d, min(refill(&t.policy, Unit-level), 10*e.Interval, e.MaxAge/4))
	}
	return max(d, e.tick)
}

// readLease parses an answer, and counts what it says beside the tokens.
func (e *engine) readLease(r *record, reply Reply, now clock.Time) (LeaseReply, error) {
	if reply.Err != nil {
		return LeaseReply{}, reply.Err
	}
	a, err := ParseLease(reply.Values)
	if err != nil {
		return a, errors.Join(ErrUnknown, err)
	}
	e.created(r, a.Created)
	if a.Learning {
		e.stats.Learning++
	}
	e.debt = max(e.debt, -a.Level)
	e.heed(r.terms, a.Status, &a.Policy, now)
	return a, nil
}

// tendHeld looks at leases, so many that each is looked at once in a quarter of its
// term: those that are to be renewed or given back are.
func (e *engine) tendHeld(now clock.Time) {
	rounds := max(1, int(e.MaxAge/4/e.Interval))
	for n := min(e.held.n, 64+e.held.n/rounds); n > 0; n-- {
		r := e.held.head
		e.held.push(r)
		if now >= r.lease.until.Add(-e.MaxAge/2) {
			e.enqueue(r)
		}
	}
}
