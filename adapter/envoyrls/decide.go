package envoyrls

import (
	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// outcome is what became of a take.
type outcome uint8

const (
	admitted outcome = iota
	denied
	lost // the gate has no policy for a limit: the rules are not those in force any more
)

// decide takes the hits of q, or none of them, and fills in what its members answer. It
// returns false, having taken nothing, if the rules of q are not those of the gate.
//
// First it looks where there is only to look, then it takes from all that are enforced at
// once. Shadow limits come after: what they say changes nothing for the others, and a
// request that is over limit has not happened for them either.
func (s *Server) decide(q *request) bool {
	now := s.clock.Now()
	var takes []*member
	for i := range q.members {
		m := &q.members[i]
		switch {
		case m.rule.shadow || m.back:
		case m.hits > 0:
			takes = append(takes, m)
		case !s.look(now, m):
			return false
		default:
			q.over = q.over || m.over
		}
	}
	if !q.over {
		switch s.takeAll(now, takes) {
		case lost:
			return false
		case denied:
			q.over = true
		}
	}
	if q.over || len(takes) > 1 {
		for _, m := range takes {
			s.look(now, m)
		}
	}
	for i := range q.members {
		if m := &q.members[i]; m.rule.shadow || m.back {
			s.follow(now, m, q.over)
		}
	}
	return true
}

// look fills in a member without taking: whether its hits, or one where it only looks, are
// there. One that is known to deny goes on to. It returns false if the limit is lost.
func (s *Server) look(now clock.Time, m *member) bool {
	d := s.gate.TakeAt(now, m.key, m.rule.endpoint, 0)
	if isLost(&d) {
		return false
	}
	switch n := max(m.hits, 1); {
	case !d.Allowed:
		m.deny(d.Reason, d.RetryAfter)
	case d.Remaining >= n:
	case n > m.rule.most:
		m.deny(tickgate.TooCostly, tickgate.Never)
	default:
		m.deny(tickgate.Limited, d.ResetAfter)
	}
	m.settle(&d)
	return true
}

// follow does for a member that holds nobody up what the request, once decided, means for
// it.
func (s *Server) follow(now clock.Time, m *member, over bool) {
	switch {
	case over || m.hits == 0:
		s.look(now, m)
	case m.back:
		if h, err := s.gate.Handle(m.key, m.rule.endpoint); err == nil {
			h.Credit(m.hits)
			h.Release()
		}
		s.look(now, m)
	default:
		d := s.gate.TakeAt(now, m.key, m.rule.endpoint, m.hits)
		m.settle(&d)
		if d.Shadow {
			s.count.shadowDenied.Add(1)
		}
	}
}

// takeAll takes the hits of all members, or none. Of a denial it marks the member that it
// comes from.
func (s *Server) takeAll(now clock.Time, members []*member) outcome {
	switch {
	case len(members) == 0:
		return admitted
	case len(members) == 1:
		m := members[0]
		d := s.gate.TakeAt(now, m.key, m.rule.endpoint, m.hits)
		m.settle(&d)
		return verdict(&d, m)
	}
	return s.takeGroups(now, members)
}

// verdict reads a decision about m.
func verdict(d *tickgate.Decision, m *member) outcome {
	switch {
	case d.Allowed:
		return admitted
	case isLost(d):
		return lost
	}
	m.deny(d.Reason, d.RetryAfter)
	return denied
}

func isLost(d *tickgate.Decision) bool {
	return d.Reason == tickgate.NoPolicy || d.Reason == tickgate.BadRequest
}
