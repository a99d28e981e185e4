// Package venues decides on recorded messages under a preset of policy/venue: each
// draws on all the counts that its class draws on, or on none.
package venues

import (
	"errors"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy/venue"
)

// Messages decides for the messages of one preset. Every key of the recording has
// counts of its own, whatever the venue keeps them by. Not safe for concurrent use.
type Messages struct {
	gate   *tickgate.Gate
	preset venue.Preset
	routes map[route]*joined
}

type route struct{ key, class string }

// joined is the counts of one class of messages of one key.
type joined struct {
	draws []venue.Draw
	group tickgate.Group
	each  []int64
	fate  tickgate.Reason // why there is no group
}

// New returns the messages of a preset whose policies the gate has.
func New(g *tickgate.Gate, p venue.Preset) *Messages {
	return &Messages{gate: g, preset: p, routes: map[route]*joined{}}
}

// TakeAt decides on one message of a class. cost is for the counts that leave it to
// the caller: the weight of a query, the orders in a batch. 0 looks without taking.
// A class that the preset does not have is denied with NoPolicy. The counts of a
// key stay in the gate once they are used: when it has no room for more, further
// keys are denied with Full.
func (m *Messages) TakeAt(now clock.Time, key, class string, cost int64) tickgate.Decision {
	at := route{key, class}
	j := m.routes[at]
	if j == nil {
		j = m.join(at)
		if j.fate != tickgate.Full { // for that there would be no end of them
			m.routes[at] = j
		}
	}
	if j.fate != tickgate.OK {
		return tickgate.Decision{Reason: j.fate, RetryAfter: tickgate.Never}
	}
	if cost == 0 {
		return j.group.TakeAt(now, 0)
	}
	for i, d := range j.draws {
		j.each[i] = d.Tokens(cost)
	}
	return j.group.TakeEachAt(now, j.each...)
}

func (m *Messages) join(at route) *joined {
	kind, known := m.preset.Message(at.class)
	if !known {
		return &joined{fate: tickgate.NoPolicy}
	}
	j := &joined{draws: kind.Draws, each: make([]int64, len(kind.Draws))}
	var handles []tickgate.Handle
	for _, d := range kind.Draws {
		h, err := m.gate.Handle(at.key, d.Endpoint)
		if err != nil {
			for _, h := range handles {
				h.Release()
			}
			return &joined{fate: fate(err)}
		}
		handles = append(handles, h)
	}
	var err error
	if j.group, err = tickgate.Join(handles...); err != nil {
		return &joined{fate: tickgate.BadRequest} // not for handles that were just made
	}
	return j
}

func fate(err error) tickgate.Reason {
	switch {
	case errors.Is(err, tickgate.ErrFull):
		return tickgate.Full
	case errors.Is(err, tickgate.ErrNoPolicy):
		return tickgate.NoPolicy
	}
	return tickgate.BadRequest
}
