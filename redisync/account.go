package redisync

import (
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
)

// recheck is how long terms are taken for good without asking the gate. A change of a
// policy is so in Redis that much later.
const recheck = 100 * time.Millisecond

// changing is how long an account may be there and not be described: a change of its
// policy takes microseconds. What is so for longer is of a policy that was removed.
const changing = 100 * time.Millisecond

// vague is an account that could not be described when it was collected.
type vague struct {
	id    tickgate.Account
	until clock.Time
}

// again looks once more at the vague accounts.
func (e *engine) again() {
	all := e.vague
	e.vague = nil
	for _, v := range all {
		n := len(e.vague)
		e.collected(v.id)
		if len(e.vague) == n {
			continue
		}
		if e.vague[n].until = v.until; e.now >= v.until {
			e.vague = e.vague[:n]
		}
	}
}

// meet makes the record of an account; nil: it is none any more, or not yet.
func (e *engine) meet(id tickgate.Account) *record {
	d, ok := e.ledger.Describe(id)
	if !ok {
		if _, there := e.ledger.Open(id); there {
			e.vague = append(e.vague, vague{id, e.now.Add(changing)})
		}
		return nil
	}
	var r *record
	if n := len(e.free); n > 0 {
		r, e.free = e.free[n-1], e.free[:n-1]
	} else {
		r = new(record)
	}
	r.id = id
	if !e.describe(r, d) {
		e.free = append(e.free, r)
		return nil
	}
	e.records[id] = r
	e.peak = max(e.peak, len(e.records))
	return r
}

// describe begins a record, or begins it anew, for an account of terms d.
func (e *engine) describe(r *record, d tickgate.Terms) bool {
	t := e.termsOf(d)
	if t == nil {
		return false
	}
	t.users++
	if r.terms != nil {
		e.leave(r.terms)
	}
	r.terms = t
	if d.Mode == tickgate.LeaseMode {
		r.key, r.mark = LeaseKey(e.Prefix, d.Endpoint, t.part, d.APIKey)
		if r.lease == nil {
			r.lease = new(lease)
		}
	} else {
		r.key, r.mark, r.lease = BudgetKey(e.Prefix, d.Endpoint, t.part, d.APIKey), "", nil
	}
	r.lane = e.laneOf(r.key)
	e.renew(r)
	return true
}

// renew begins an epoch.
func (e *engine) renew(r *record) {
	e.epoch++
	r.epoch, r.settled, r.sent, r.acked = e.epoch, 0, 0, false
	if r.lease != nil {
		r.lease.begin()
	}
}

// termsOf returns the terms that d describes, brought up to date; nil: Redis could not
// hold them, which New and Share rule out.
func (e *engine) termsOf(d tickgate.Terms) *terms {
	k := name{d.Endpoint, e.partOf(d)}
	t := e.terms[k]
	if t == nil {
		t = &terms{part: k.part}
		e.terms[k] = t
	}
	if t.policy.A != 0 && t.Terms.Gen != d.Gen {
		e.refresh()
	}
	if t.policy.A == 0 || t.Terms.Gen != d.Gen || t.policy.V != e.version {
		p, err := PolicyOf(d.Tokens, d.Per, d.Capacity, e.version)
		if err != nil {
			e.Log.Error("redisync: a limit cannot be shared", "endpoint", d.Endpoint, "limit", d.Limit, "error", err)
			if t.users == 0 {
				delete(e.terms, k)
			}
			return nil
		}
		t.policy = p
	}
	t.Terms = d
	t.APIKey = "" // of one of them
	t.checked = e.now
	return t
}

// partOf returns what stands in keys for the limit that d describes.
func (e *engine) partOf(d tickgate.Terms) string {
	part, ok := e.partIn(d)
	if !ok { // of a policy that is newer than the set
		e.refresh()
		if part, ok = e.partIn(d); !ok {
			return d.Limit
		}
	}
	return part
}

func (e *engine) partIn(d tickgate.Terms) (part string, ok bool) {
	part, ok = e.parts[e.listed(d.Endpoint)][d.Limit]
	return part, ok
}

// listed returns the endpoint of the policy of an endpoint.
func (e *engine) listed(endpoint string) string {
	if _, ok := e.parts[endpoint]; ok {
		return endpoint
	}
	return policy.DefaultEndpoint
}

// confirm asks the gate, now and then, whether a record's terms are still those, and
// brings both up to date. It reports false where the record is none any more, or cannot
// be described for the moment: then it is parked.
func (e *engine) confirm(r *record, now clock.Time) bool {
	t := r.terms
	if !t.void && now.Sub(t.checked) < recheck {
		return true
	}
	d, ok := e.ledger.Describe(r.id)
	switch {
	case !ok:
		if _, there := e.ledger.Open(r.id); !there || r.vague != 0 && now >= r.vague {
			e.forget(r)
			return false
		}
		if r.vague == 0 {
			r.vague = now.Add(changing)
		}
		r.retry = now.Add(e.tick)
		e.parked.push(r)
		return false
	case d.Endpoint == t.Endpoint && e.partOf(d) == t.part && (d.Mode == tickgate.LeaseMode) == (r.lease != nil):
		if e.termsOf(d) == nil {
			e.forget(r)
			return false
		}
	default: // the same account of a limit with another name: another key in Redis
		t.void = true
		if !e.describe(r, d) {
			e.forget(r)
			return false
		}
	}
	r.vague = 0
	return true
}

// leave gives up a use of terms.
func (e *engine) leave(t *terms) {
	if t.users--; t.users == 0 {
		if k := (name{t.Endpoint, t.part}); e.terms[k] == t {
			delete(e.terms, k)
		}
	}
}

// forget gives a record up.
func (e *engine) forget(r *record) {
	if r.in != nil {
		r.in.remove(r)
	}
	if e.records[r.id] == r {
		delete(e.records, r.id)
	}
	if r.flying() {
		r.gone = true
		return
	}
	e.drop(r)
}

// drop makes a record that was given up free for another account.
func (e *engine) drop(r *record) {
	e.leave(r.terms)
	*r = record{}
	if len(e.free) < spare {
		e.free = append(e.free, r)
	}
}

// rest puts a record aside that has nothing to tell, until its limit is full.
func (e *engine) rest(r *record) {
	r.since, r.retry = 0, 0
	e.idle.push(r)
	if e.idle.n > mostIdle {
		e.forget(e.idle.head)
	}
}

// tendIdle forgets records whose limit is full. In 64 intervals it sees all.
func (e *engine) tendIdle(now clock.Time) {
	for n := min(e.idle.n, 64+e.idle.n/64); n > 0; n-- {
		r := e.idle.head
		if now >= r.full {
			e.forget(r)
		} else {
			e.idle.push(r)
		}
	}
}

// shrink gives memory back after a peak: a map keeps what it once needed.
func (e *engine) shrink() {
	n := len(e.records)
	if e.peak < spare || n > e.peak/8 {
		return
	}
	records := make(map[tickgate.Account]*record, n)
	for id, r := range e.records {
		records[id] = r
	}
	e.records, e.peak = records, n
	e.free = nil
}

// fullAt is when a limit whose level is level now will be full.
func (t *terms) fullAt(level int64, now clock.Time) clock.Time {
	missing := float64(max(0, t.policy.C-level))
	us := missing * float64(t.policy.B) / float64(t.policy.A)
	return now.Add(time.Duration(min(us*1000, 1<<62)))
}
