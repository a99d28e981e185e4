package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/tickgate/tickgate/clock"
)

const (
	// tick is how often traders look at what is due.
	tick = time.Millisecond
	// otherEvery is how often the other program on this host sends a query.
	otherEvery = 10 * time.Second
)

// midnight is when the simulation begins on the venue's clock: a boundary of every
// window that follows the clock.
var midnight = time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)

// simulation is a gateway, its traders, and the venue at the other end. One loop
// drives all of it, so that the same seed gives the same run; the gate itself may
// be asked by any number of goroutines.
type simulation struct {
	cfg      *config
	start    clock.Time
	gateway  *gateway
	exchange *exchange
	traders  []*trader
	replies  []arrival // on their way back
}

func newSimulation(cfg *config) (*simulation, error) {
	s := &simulation{cfg: cfg, start: clock.Time(midnight.UnixNano()).Add(cfg.clockError)}
	var err error
	if s.gateway, err = newGateway(cfg, s.start); err != nil {
		return nil, err
	}
	if s.exchange, err = newExchange(cfg, s.start); err != nil {
		return nil, err
	}
	for session := range cfg.sessions {
		s.traders = append(s.traders, newTrader(cfg, session, s.start))
	}
	return s, nil
}

func (s *simulation) run() {
	s.exchange.venue.Advance(midnight.UnixNano())
	s.exchange.venue.Horizon(midnight.Add(s.cfg.span).UnixNano())
	end := s.start.Add(s.cfg.span)
	for now := s.start; now < end; now = now.Add(tick) {
		s.step(now)
		if since := now.Sub(s.start); s.exchange.others && since%otherEvery == 0 {
			s.exchange.sendOther(now)
		}
		first := int(now.Sub(s.start)/tick) % len(s.traders) // nobody is always first
		for i := range s.traders {
			s.traders[(first+i)%len(s.traders)].act(now, s)
		}
	}
	for now := end; s.exchange.wire.Pending() > 0 || len(s.replies) > 0; now = now.Add(tick) {
		s.step(now)
	}
}

// step lets what is on its way arrive until now, and hands the replies that are
// back to who waits for them.
func (s *simulation) step(now clock.Time) {
	s.gateway.clock.Set(now)
	s.replies = append(s.replies, s.exchange.deliver(now)...)
	slices.SortStableFunc(s.replies, func(a, b arrival) int { return cmp.Compare(a.back, b.back) })
	for len(s.replies) > 0 && s.replies[0].back <= now {
		r := s.replies[0]
		s.replies = s.replies[1:]
		s.gateway.answered(now, r.flight, r.reply)
		s.traders[r.flight.session].answered(now, r.flight, r.reply)
	}
}
