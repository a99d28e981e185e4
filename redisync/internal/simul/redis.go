package simul

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tickgate/tickgate/redisync"
)

// Redis is what the script does, by its rules, at times of one's own choice. Keys live
// for ever, and nodes are never forgotten. What it cannot know, for the checks, is in
// raised and charged.
type Redis struct {
	Now  int64 // µs
	bugs bugs

	keys  map[string]*budget
	marks map[string]int64 // when made, µs

	fault  error              // tokens that were told, and are not charged
	lost   map[string]*budget // what a key would be, had it not been lost
	raised func(key string, by int64)
}

// budget is one key.
type budget struct {
	policy           redisync.Policy
	level, at, part  int64 // millionths; µs; beyond level, over policy.B
	nodes            map[redisync.Slot]*field
	charged, granted map[redisync.Slot]int64 // tokens, in all epochs
}

// field is one node of a key.
type field struct {
	epoch                          int64
	total                          int64 // credit
	real                           int64 // of those, charged in truth
	vague                          bool  // Redis does not know
	granted, gone, back, want, end int64 // lease
}

func newRedis(now int64, b bugs, raised func(key string, by int64)) *Redis {
	return &Redis{Now: now, bugs: b, keys: map[string]*budget{}, marks: map[string]int64{}, lost: map[string]*budget{}, raised: raised}
}

func newBudget(p redisync.Policy, level, at int64) *budget {
	return &budget{policy: p, level: level, at: at, nodes: map[redisync.Slot]*field{}, charged: map[redisync.Slot]int64{}, granted: map[redisync.Slot]int64{}}
}

func (b *budget) clone() *budget {
	c := *b
	c.nodes = make(map[redisync.Slot]*field, len(b.nodes))
	for s, f := range b.nodes {
		g := *f
		c.nodes[s] = &g
	}
	c.charged, c.granted = maps.Clone(b.charged), maps.Clone(b.granted)
	return &c
}

// held is the tokens that leases hold.
func (b *budget) held() (n int64) {
	for _, f := range b.nodes {
		n += f.granted - f.gone
	}
	return n
}

// advance refills up to a time, as if what leases hold was there.
func (b *budget) advance(to int64) {
	if to <= b.at {
		return
	}
	room := max(0, b.policy.C-b.held()*redisync.Unit-b.level)
	num := (to-b.at)*b.policy.A + b.part
	b.at = to
	if gain := num / b.policy.B; gain < room {
		b.level, b.part = b.level+gain, num%b.policy.B
	} else {
		b.level, b.part = b.level+room, 0
	}
}

// copy is what a replica has.
func (r *Redis) copy() map[string]*budget {
	all := make(map[string]*budget, len(r.keys))
	for k, b := range r.keys {
		all[k] = b.clone()
	}
	return all
}

// fallBack makes Redis what a replica had.
func (r *Redis) fallBack(kept map[string]*budget, lease bool) {
	for _, k := range slices.Sorted(maps.Keys(r.keys)) {
		now, old := r.keys[k], kept[k]
		if lease {
			r.raised(k, forgotten(now, old)*redisync.Unit)
			continue
		}
		if old == nil {
			r.lost[k] = now
			continue
		}
		now.advance(r.Now)
		then := old.clone()
		then.advance(r.Now)
		r.raised(k, then.level-now.level)
	}
	r.keys = kept
}

// forgotten is the tokens that nodes may still spend of leases when Redis believes that
// nobody does: of those granted since it was old, and of those that it will take for
// ended too early, because they were renewed since.
func forgotten(now, old *budget) (tokens int64) {
	for s, n := range now.granted {
		if old != nil {
			n -= old.granted[s]
			if f, g := now.nodes[s], old.nodes[s]; g != nil && (f == nil || f.end != g.end) {
				n += g.granted - g.gone
			}
		}
		tokens += n
	}
	return tokens
}

// flush loses everything.
func (r *Redis) flush() {
	maps.Copy(r.lost, r.keys)
	r.keys, r.marks = map[string]*budget{}, map[string]int64{}
}

// Credit is the call of that name.
func (r *Redis) Credit(key string, a redisync.CreditArgs) redisync.CreditReply {
	b := r.keys[key]
	created := b == nil
	if created {
		b = newBudget(a.Policy, min(a.Policy.C, a.Est), r.Now)
		if old := r.lost[key]; old != nil {
			old.advance(r.Now)
			r.raised(key, b.level-old.level)
			delete(r.lost, key)
		}
		r.keys[key] = b
	}
	b.advance(r.Now)
	f, known := b.nodes[a.Slot], a.Base
	switch {
	case f == nil:
		if a.Base > 0 && !created {
			b.level = min(b.level, a.Est)
		}
	case f.epoch > a.Epoch && r.bugs != noStale:
		return redisync.CreditReply{Status: redisync.Stale, Level: b.level, Now: r.Now, Policy: b.policy}
	case f.epoch == a.Epoch:
		known = f.total
	case r.bugs != oldEpoch:
		// The node's last record is here and not this one: what this one was
		// charged is lost, whatever was acknowledged.
		known = 0
	}
	if r.bugs == fromBase {
		known = a.Base
	}
	before := known
	if more := a.Total - known; more > 0 {
		b.level -= more * redisync.Unit
		b.charged[a.Slot] += more
		known = a.Total
	}
	next := &field{epoch: a.Epoch, total: known, vague: f == nil && a.Base > 0}
	next.real = max(0, a.Total-before)
	if f != nil && f.epoch == a.Epoch {
		next.real, next.vague = next.real+f.real, f.vague
	}
	if b.nodes[a.Slot] = next; !next.vague && next.real != next.total {
		r.fault = fmt.Errorf("%s: %s was told of %d tokens, and %d are charged", key, a.Slot, next.total, next.real)
	}
	return redisync.CreditReply{Level: b.level, Now: r.Now, Created: created, Total: known, Policy: b.policy}
}

// Lease is the call of that name. It grants as much as is wanted and there: shares are
// fairness, not safety.
func (r *Redis) Lease(key, mark string, a redisync.LeaseArgs) redisync.LeaseReply {
	hold := a.Lease*1000 + (a.Lease*1000+63)/64 + 1000
	if r.bugs == noMargin {
		hold = a.Lease * 900
	}
	b := r.keys[key]
	created := b == nil
	if created {
		since, marked := r.marks[mark]
		if !marked || a.Seen > a.Gone && r.Now >= since+hold {
			since = r.Now
			r.marks[mark] = since
		}
		b = newBudget(a.Policy, 0, since+hold)
		switch r.bugs {
		case noLearn:
			b.level, b.at = a.Policy.C, r.Now
		case noWait:
			b.at = since
		}
		r.keys[key] = b
		b.advance(r.Now)
	} else {
		r.sweep(b)
	}
	f := b.nodes[a.Slot]
	if r.bugs == newsFirst && f != nil && f.epoch == a.Epoch {
		f.gone = max(f.gone, min(a.Gone, f.granted))
	}
	b.advance(r.Now)
	learning := b.at > r.Now
	switch {
	case f != nil && f.epoch > a.Epoch && r.bugs != noStale:
		return redisync.LeaseReply{Status: redisync.Stale, Level: b.level, Now: r.Now, Learning: learning, Policy: b.policy}
	case f == nil || f.epoch != a.Epoch:
		// What the node held in an earlier epoch it has given up. What it holds in
		// this one is not known here: it may have been written off, and be others'.
		f = &field{epoch: a.Epoch, granted: a.Seen, gone: a.Seen, back: a.Returned}
		if r.bugs == revive {
			f.gone = a.Gone
			if !learning {
				b.level -= (a.Seen - a.Gone) * redisync.Unit
			}
		}
		b.nodes[a.Slot] = f
	default:
		if a.Seen > f.granted {
			b.level -= (a.Seen - f.granted) * redisync.Unit
			f.granted = a.Seen
			if r.bugs != revive {
				f.gone = a.Seen
			}
		}
		less := max(0, a.Gone-f.gone)
		f.gone += less
		if back := a.Returned - f.back; back > 0 {
			if r.bugs != returnAll {
				back = min(back, less)
			}
			b.level, f.back = b.level+back*redisync.Unit, a.Returned
		}
	}
	if f.want = a.Want; a.Leave {
		f.want = 0
	}
	if n := min(f.want, b.level/redisync.Unit); n > 0 && a.Seen == f.granted {
		b.level -= n * redisync.Unit
		f.granted += n
		b.granted[a.Slot] += n
	}
	f.end = r.Now + hold
	reply := redisync.LeaseReply{
		Granted: f.granted, Gone: f.gone, Level: b.level, Now: r.Now, Created: created, Learning: learning, Policy: b.policy,
	}
	if a.Leave && f.gone == f.granted {
		delete(b.nodes, a.Slot)
	}
	return reply
}

// sweep writes off the leases that have ended, each at its end.
func (r *Redis) sweep(b *budget) {
	var ended []*field
	for _, f := range b.nodes {
		if f.end <= r.Now && f.granted > f.gone {
			ended = append(ended, f)
		}
	}
	slices.SortFunc(ended, func(x, y *field) int { return int(x.end - y.end) })
	for _, f := range ended {
		if r.bugs != sweepFirst {
			b.advance(f.end)
		}
		f.gone = f.granted
	}
}
