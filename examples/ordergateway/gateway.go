package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

// The classes of messages that traders send.
const (
	classNew     = "order.new"
	classReplace = "order.replace"
	classCancel  = "order.cancel"
	classQuery   = "query"
)

// The counts of the house, beside those of the venue: what one session may send,
// and what all may together.
const (
	countSession = "house.session"
	countFirm    = "house.firm"
)

// gateway decides what may go to the venue. Its gate holds one key for each count
// that the venue keeps of us, and one for each of the house's.
type gateway struct {
	cfg      *config
	gate     *tickgate.Gate
	clock    *clock.Manual // a real gateway leaves Config.Clock out
	wall     *clock.ManualWall
	policies policy.Set
	routes   []map[string]*route // by session, then by class

	unanswered map[*flight]bool   // what was sent and has no reply yet
	last       map[string]*flight // the last admission, by count
	newest     map[string]told    // the venue's newest count, by count and limit
	news       uint64             // how often a reply changed a count
}

// route is one class of messages of one session: the counts that a message draws
// on, the venue's and the house's, joined to one decision.
type route struct {
	message venue.Message
	keys    []string // what each of the venue's counts is kept by: one for each draw
	handles []tickgate.Handle
	group   tickgate.Group
	each    []int64 // tokens by handle, for the next decision
}

// flight is a message that was sent.
type flight struct {
	session  int
	at       clock.Time
	route    *route
	decision tickgate.Decision
	each     []int64
	order    *order // that it is about; nil for a query
	class    string
}

func newGateway(cfg *config, start clock.Time) (*gateway, error) {
	g := &gateway{
		cfg: cfg, clock: clock.NewManual(start), wall: clock.NewManualWall(0),
		unanswered: map[*flight]bool{}, last: map[string]*flight{}, newest: map[string]told{},
	}
	g.policies = cfg.preset.Policies
	if !cfg.naive {
		g.policies = venue.Guard(keepBack(leaveRoom(cfg.preset)), cfg.jitter())
		g.wall.SetOffset(cfg.ahead())
	}
	g.policies = append(g.policies.Clone(),
		policy.Policy{Endpoint: countSession, Limits: []policy.Limit{cfg.perSession}},
		policy.Policy{Endpoint: countFirm, Limits: []policy.Limit{cfg.firm}})
	var err error
	if g.gate, err = tickgate.New(tickgate.Config{
		Policies: g.policies,
		MaxKeys:  16 * (cfg.sessions + 1), // no preset keeps more counts than that
		OnFull:   tickgate.RejectNew,
		Clock:    g.clock,
		Wall:     g.wall,
	}); err != nil {
		return nil, err
	}
	for session := range cfg.sessions {
		routes := map[string]*route{}
		for _, m := range cfg.preset.Messages {
			if routes[m.Class], err = g.route(session, m); err != nil {
				return nil, err
			}
		}
		g.routes = append(g.routes, routes)
	}
	return g, nil
}

// keyOf is what the venue counts a session by at one of its endpoints: the sessions
// of one host share an address, those of one account its orders.
func keyOf(cfg *config, endpoint string, session int) string {
	switch kind := cfg.preset.Keys[endpoint]; kind {
	case "IP address":
		return "this host"
	case "session", "connection":
		return fmt.Sprintf("session %d", session+1)
	default: // an account, by whatever name
		return fmt.Sprintf("%s of account %d", kind, session%cfg.accounts+1)
	}
}

// leaveRoom returns the preset with lower limits where the venue counts by address:
// the other program on this host sends as it likes, and what it will send is in no
// reply yet.
func leaveRoom(p venue.Preset) venue.Preset {
	p.Policies = p.Policies.Clone()
	query, _ := p.Message(classQuery)
	for _, d := range query.Draws {
		if counted, _ := p.Policies.Lookup(d.Endpoint); p.Keys[d.Endpoint] == "IP address" {
			for i, l := range counted.Limits {
				counted.Limits[i].Tokens -= (int64(l.Per/otherEvery) + 1) * d.Tokens(queryWeight)
			}
		}
	}
	return p
}

// keepBack returns the preset's policies with a reserve for cancels in every count
// that cancels share with other messages: 2 %, and room for one cancel at least.
// Counts below 20 are too small to keep any of them back; there, being first has to
// do.
func keepBack(p venue.Preset) policy.Set {
	set := p.Policies.Clone()
	cancel, _ := p.Message(classCancel)
	for _, d := range cancel.Draws {
		shared := slices.ContainsFunc(p.Messages, func(m venue.Message) bool {
			return m.Class != classCancel && slices.ContainsFunc(m.Draws, func(o venue.Draw) bool { return o.Endpoint == d.Endpoint })
		})
		counted, _ := set.Lookup(d.Endpoint)
		for i, l := range counted.Limits {
			if shared && l.Capacity() >= 20 && l.Window != policy.Unlimited {
				counted.Limits[i].Reserve = max(l.Capacity()/50, d.Tokens(venue.KrakenCancelCost(0)))
			}
		}
	}
	return set
}

// route joins the counts of one class of messages: the venue's, by whatever it
// counts, the session's and the firm's. A message takes from all or from none.
func (g *gateway) route(session int, m venue.Message) (*route, error) {
	r := &route{message: m}
	var faults []error
	add := func(key, endpoint string) {
		h, err := g.gate.Handle(key, endpoint)
		faults = append(faults, err)
		r.handles = append(r.handles, h)
	}
	for _, d := range m.Draws {
		r.keys = append(r.keys, keyOf(g.cfg, d.Endpoint, session))
		add(r.keys[len(r.keys)-1], d.Endpoint)
	}
	add(fmt.Sprintf("session %d", session+1), countSession)
	add("firm", countFirm)
	r.each = make([]int64, len(r.handles))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var err error
	r.group, err = tickgate.Join(r.handles...)
	return r, err
}

// ask decides on one message. cost is what the venue leaves to the caller, where it
// does: the weight of a query, the penalty for an order's age. What was denied is
// not to be sent: it may be asked again after the decision's RetryAfter, if it is
// still wanted then.
func (g *gateway) ask(now clock.Time, session int, class string, cost int64, o *order) (*flight, time.Duration) {
	r := g.routes[session][class]
	for i := range r.each {
		r.each[i] = 1 // of the house's counts
		if i < len(r.message.Draws) {
			r.each[i] = r.message.Draws[i].Tokens(cost)
		}
	}
	var d tickgate.Decision
	if class == classCancel {
		d = r.group.TakeUrgentEachAt(now, r.each...) // may use the reserve, and passes a block
	} else {
		d = r.group.TakeEachAt(now, r.each...)
	}
	if !d.Allowed {
		return nil, d.RetryAfter
	}
	f := &flight{at: now, session: session, route: r, decision: d, each: slices.Clone(r.each), order: o, class: class}
	g.unanswered[f] = true
	for i, d := range r.message.Draws {
		g.last[d.Endpoint+" by "+r.keys[i]] = f
	}
	return f, 0
}
