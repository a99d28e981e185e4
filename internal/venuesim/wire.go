package venuesim

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Network is how messages travel. The zero value is a wire without delay.
type Network struct {
	// Min and Max bound the delay of one way, both included, 0 <= Min <= Max.
	Min, Max time.Duration
	// Harsh makes every delay Min or Max and none between: the worst that the
	// bounds allow. Otherwise delays are uniform.
	Harsh bool
	// Ordered makes each session deliver in the order of sending: a message that
	// would overtake waits for the one before it.
	Ordered bool
	// Clock is the venue's.
	Clock Clock
	// Seed chooses the delays; the same seed and calls give the same ones.
	Seed uint64
}

// Wire carries messages to a venue. Its times are ours, the venue's are those
// of its clock.
type Wire struct {
	venue     *Venue
	net       Network
	random    *rand.Rand
	sessions  map[int]*session
	onWay     queue
	sent      int64 // messages so far
	began     bool
	delivered int64 // everything that arrived until then was handed over
}

// session is what orders a connection: the latest arrival in each direction.
type session struct {
	used     bool
	there    int64
	returned int64
}

// Delivery is a message that arrived, and the answer.
type Delivery struct {
	Session int
	Class   string
	// Sent, Arrived and Returned are when the message left, when it was there,
	// and when the reply is back, all on our clock.
	Sent, Arrived, Returned int64
	Reply                   Reply
}

// NewWire returns a wire to the venue, or every fault of the network joined.
func NewWire(v *Venue, n Network) (*Wire, error) {
	var all []error
	if v == nil {
		all = append(all, errors.New("venuesim: wire: the venue must not be nil"))
	}
	if n.Min < 0 || n.Max < n.Min {
		all = append(all, fmt.Errorf("venuesim: wire: delays [%v, %v] must be 0 <= min <= max", n.Min, n.Max))
	}
	if err := errors.Join(append(all, n.Clock.faults())...); err != nil {
		return nil, err
	}
	return &Wire{
		venue: v, net: n,
		random:   rand.New(rand.NewPCG(n.Seed, 0x9e3779b97f4a7c15)), // the golden ratio: any fixed stream
		sessions: make(map[int]*session),
	}, nil
}

// Send puts a message on session 0; see SendOn.
func (w *Wire) Send(at int64, class string, costs ...int64) { w.SendOn(0, at, class, costs...) }

// SendOn puts a message on a session at a time of our clock, with the costs that
// Receive takes. Sessions are made on first use and overtake each other freely.
// It panics if at lies before what was delivered.
func (w *Wire) SendOn(number int, at int64, class string, costs ...int64) {
	if w.began && at < w.delivered {
		panic(fmt.Sprintf("venuesim: Send at %d, but all until %d was delivered; send first", at, w.delivered))
	}
	s := w.sessions[number]
	if s == nil {
		s = &session{}
		w.sessions[number] = s
	}
	// Both delays are drawn now, so that they do not depend on when Deliver is
	// called.
	there := at + w.delay()
	if w.net.Ordered && s.used {
		there = max(there, s.there)
	}
	back := there + w.delay()
	if w.net.Ordered && s.used {
		back = max(back, s.returned)
	}
	s.used, s.there, s.returned = true, there, back
	w.sent++
	heap.Push(&w.onWay, message{
		Delivery: Delivery{Session: number, Class: class, Sent: at, Arrived: there, Returned: back},
		costs:    slices.Clone(costs), seq: w.sent,
	})
}

// Deliver hands over all messages that arrive at until or before, on our clock,
// in the order of arrival, and then lets the venue's time pass to until. The
// reply is told at once, though it is back only at Returned.
func (w *Wire) Deliver(until int64) []Delivery {
	var list []Delivery
	for len(w.onWay) > 0 && w.onWay[0].Arrived <= until {
		m := heap.Pop(&w.onWay).(message)
		m.Reply = w.venue.Receive(w.net.Clock.At(m.Arrived), m.Class, m.costs...)
		list = append(list, m.Delivery)
	}
	w.venue.Advance(w.net.Clock.At(until))
	if !w.began || until > w.delivered {
		w.began, w.delivered = true, until
	}
	return list
}

// Pending returns how many messages are on their way.
func (w *Wire) Pending() int { return len(w.onWay) }

// delay returns the nanoseconds of one way.
func (w *Wire) delay() int64 {
	span := int64(w.net.Max - w.net.Min)
	switch {
	case span == 0:
		return int64(w.net.Min)
	case w.net.Harsh:
		return int64(w.net.Min) + span*w.random.Int64N(2)
	case span == Never:
		return w.random.Int64()
	}
	return int64(w.net.Min) + w.random.Int64N(span+1)
}
