package envoyrls

import (
	"errors"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
)

// maxGroup is the most handles that tickgate.Join takes.
const maxGroup = 8

// taken is what a group took.
type taken struct {
	group tickgate.Group
	d     tickgate.Decision
}

// takeGroups takes from several keys.
//
// Up to maxGroup of them are one group: no other request ever sees a hit of a request that
// is denied. Taking from one after the other and giving back would show others limits that
// are emptier than they are, deny them, and not always give everything back.
//
// More are several groups, one after the other. What those before a denial took is given
// back; to make that rare, the members that have too little left go first, where a denial
// has cost nothing yet.
func (s *Server) takeGroups(now clock.Time, members []*member) outcome {
	if len(members) > maxGroup {
		var short, rest []*member
		for _, m := range members {
			if !s.look(now, m) {
				return lost
			}
			if m.over {
				short = append(short, m)
			} else {
				rest = append(rest, m)
			}
		}
		members = append(short, rest...)
	}
	var held []tickgate.Handle
	defer func() {
		for _, h := range held {
			h.Release()
		}
	}()
	var done []taken
	for from := 0; from < len(members); from += maxGroup {
		some := members[from:min(from+maxGroup, len(members))]
		var got taken
		var result outcome
		if got, held, result = s.takeGroup(now, some, held); result != admitted {
			for _, t := range done {
				t.group.Refund(t.d)
			}
			return result
		}
		done = append(done, got)
	}
	return admitted
}

// takeGroup takes from up to maxGroup keys at once. The handles it needs are added to
// held: what they took can be given back as long as they are.
func (s *Server) takeGroup(now clock.Time, members []*member, held []tickgate.Handle) (taken, []tickgate.Handle, outcome) {
	first := len(held)
	each := make([]int64, len(members))
	for i, m := range members {
		h, err := s.gate.Handle(m.key, m.rule.endpoint)
		switch {
		case errors.Is(err, tickgate.ErrFull):
			m.deny(tickgate.Full, tickgate.Never)
			return taken{}, held, denied
		case err != nil:
			return taken{}, held, lost
		}
		held = append(held, h)
		each[i] = m.hits
	}
	group, err := tickgate.Join(held[first:]...)
	if err != nil {
		return taken{}, held, lost
	}
	d := group.TakeEachAt(now, each...)
	which := 0
	if d.Member > 0 && d.Member < len(members) {
		which = d.Member
	}
	return taken{group, d}, held, verdict(&d, members[which])
}
