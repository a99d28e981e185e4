package shard

import (
	"github.com/tickgate/tickgate/bucket"
	"github.com/tickgate/tickgate/clock"
)

// Levels are what the limits of one key say at one time. The one that is handed out is
// used again for the next key.
type Levels struct {
	Policy           *Policy
	APIKey, Endpoint string // the endpoint is empty where the policy names it
	Blocked          bool
	Banned           int64 // ns from now on
	Limits           []Level
}

// Level is what one limit says. On a budget that is shared it is what this process
// knows of it.
type Level struct {
	Name      string
	Capacity  int64
	Used      int64 // tokens, rounded up; more than the capacity in debt
	Remaining int64 // reserve included
	Reset     int64 // ns until it is full
}

// Each calls each for every key of apikey, or for every key there is if apikey is empty,
// until it returns false. A key that comes or goes meanwhile may be missing. It writes
// nothing; no decision waits.
func (t *Table) Each(apikey string, now clock.Time, each func(*Levels) bool) {
	var levels Levels
	for i := range t.slots {
		w := t.placeOf(i)
		if !w.m.visible() || apikey != "" && !t.hasApikey(w, apikey) {
			continue
		}
		if t.levels(w, now, &levels) && !each(&levels) {
			return
		}
	}
}

// levels reads a key. It reports false if the slot lost it meanwhile: then what was read
// may be another one's.
func (t *Table) levels(w place, now clock.Time, out *Levels) bool {
	p := t.policy(w.s.ident.Load())
	if out.Policy = p; p == nil {
		return false
	}
	out.APIKey, out.Endpoint = t.names(w)
	for {
		out.Limits = out.Limits[:0]
		seen := clock.Time(w.s.seen.Load())
		at := now
		if now < seen {
			at, _ = t.axis(w, seen, now)
		}
		idle := !bucket.SameEra(seen, at) // read as in owes
		for _, k := range p.plan.Load().Active {
			raw, plan := loadWord(t.word(w.i, k), p)
			if plan.Limits[k].Capacity() == 0 || plan.Beside(k) {
				continue // not in force any more; what is not settled of a limit that tells of itself
			}
			l, cur := t.read(w, plan, k, raw, seen)
			c := t.state(w, k, l, raw)
			if idle && cur == raw {
				cur = l.Renew(cur, &c, seen, at)
			}
			out.Limits = append(out.Limits, Level{
				Name: plan.CostName(k), Capacity: plan.Limits[k].Capacity(),
				Used: l.Spent(cur, &c, at), Remaining: l.Left(cur, &c, at, true), Reset: l.Reset(cur, &c, at),
			})
		}
		if !idle || w.s.seen.Load() == int64(seen) {
			break
		}
	}
	bars := t.cold(w.i).barsOf(w.m)
	out.Blocked = bars&blockedBar != 0
	out.Banned = 0
	if bars&bannedBar != 0 {
		out.Banned = t.cold(w.i).bannedFor(t.ownTime(w, now))
	}
	return w.s.load().same(w.m)
}
