package main

import (
	"slices"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

// reply is what comes back for a message.
type reply struct {
	status  int
	headers map[string]string
	at      int64 // when the venue counted it, on the venue's clock
	filled  bool  // the order it created was filled at once
}

// told is a count that the venue told, and when it made it, on its clock.
type told struct{ at, used int64 }

func (r *reply) accepted() bool { return r.status == 200 }

// answered takes a reply into account. The order matters: the venue's own count
// first, and a credit only where there is none.
func (g *gateway) answered(now clock.Time, f *flight, r *reply) {
	delete(g.unanswered, f)
	if g.cfg.naive {
		return
	}
	said := g.cfg.preset.Feedback(f.class, func(name string) string { return r.headers[name] }, r.status, time.Unix(0, g.wall.UnixNano(now)))
	for _, u := range said.Used {
		g.counted(f.route, u, r.at)
	}
	if said.BanFor > 0 {
		for _, h := range f.route.handles[:len(f.route.keys)] {
			h.Ban(now.Add(said.BanFor))
		}
	}
	if r.accepted() {
		g.credit(now, f, r, f.route.message.Accepted, said)
	}
	if r.filled {
		g.credit(now, f, r, f.route.message.Filled, said)
	}
}

// member is the number of the route's handle for a count of the venue, in the order
// of Join.
func (r *route) member(endpoint string) int {
	return slices.IndexFunc(r.message.Draws, func(d venue.Draw) bool { return d.Endpoint == endpoint })
}

// counted takes the venue's own count into account, which it made at that time of
// its clock.
//
// SyncUsed wants to know what the venue has counted up to an admission, and keeps
// what was admitted since on top. Where messages arrive in the order of the
// decisions that is what the reply says of the message it answers. Here they
// overtake each other. So the newest count is put beside the last admission, and
// what has no reply yet, and may not be in it, is added: too much for a moment,
// never too little. The reply to an older count still says that its message is in
// the newest one.
func (g *gateway) counted(r *route, u venue.Used, at int64) {
	member := r.member(u.Endpoint)
	count := u.Endpoint + " by " + r.keys[member]
	newest := g.newest[count+u.Limit]
	if at > newest.at {
		newest = told{at, u.Used}
		g.newest[count+u.Limit] = newest
	}
	last, used := g.last[count], newest.used
	for f := range g.unanswered {
		if i := f.route.member(u.Endpoint); i >= 0 && f.route.keys[i] == r.keys[member] {
			used += f.each[i]
		}
	}
	l := g.limit(u.Endpoint, u.Limit)
	if l.Window == policy.Aligned && windowOf(l, newest.at) != g.window(l, last.at) {
		return // it is about a window that is over
	}
	last.route.group.SyncUsed(last.decision, last.route.member(u.Endpoint), u.Limit, used)
	g.news++
}

// credit gives back what the venue gave back. Where the reply has told the venue's
// count, that is in it already. Elsewhere it is safe only while the window in which
// the message was counted is in force on both sides: later, it would make room in
// another window, of which the venue gave nothing back.
func (g *gateway) credit(now clock.Time, f *flight, r *reply, back []venue.Draw, said venue.Feedback) {
	for _, d := range back {
		counted, _ := g.policies.Lookup(d.Endpoint)
		for _, l := range counted.Limits {
			told := slices.ContainsFunc(said.Used, func(u venue.Used) bool { return u.Endpoint == d.Endpoint && u.Limit == l.Label() })
			if !told && l.Window == policy.Aligned && windowOf(l, r.at) == g.window(l, now) && g.window(l, f.at) == g.window(l, now) {
				f.route.handles[f.route.member(d.Endpoint)].CreditLimit(l.Label(), d.Cost)
				g.news++
			}
		}
	}
}

// limit is one of the limits in force, by its name.
func (g *gateway) limit(endpoint, name string) policy.Limit {
	counted, _ := g.policies.Lookup(endpoint)
	return counted.Limits[slices.IndexFunc(counted.Limits, func(l policy.Limit) bool { return l.Label() == name })]
}

// window is the number of the aligned window in force at a time of the gate's
// clock: the gate's begins Skew after the boundary.
func (g *gateway) window(l policy.Limit, at clock.Time) int64 {
	return windowOf(l, g.wall.UnixNano(at)-int64(l.Skew))
}

// windowOf is the number of the aligned window of a wall time.
func windowOf(l policy.Limit, wall int64) int64 { return wall / int64(l.Per) }
