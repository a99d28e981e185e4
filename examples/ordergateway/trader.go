package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/policy/venue"
)

const (
	// queryWeight is what a query costs where that depends on its route, and
	// queryEvery how often each session sends one.
	queryWeight = 20
	queryEvery  = time.Second

	// An order is kept for between these, if it is not filled at once, and one in
	// four is replaced halfway.
	keepLeast = 200 * time.Millisecond
	keepMost  = 12 * time.Second

	// lookEvery is how often a session goes through its resting orders.
	lookEvery = 10 * time.Millisecond
)

// order is one that rests at the venue, or is on its way there.
type order struct {
	changed clock.Time // when it was placed or replaced, as far as we know
	replace clock.Time // when it is to be replaced; 0: never, or done
	cancel  clock.Time // when it is to be cancelled
	waiting bool       // for the reply to a message about it
	gone    bool       // filled, cancelled or never accepted
}

// trader is one session. It wants to place orders without end, keeps each for a
// while, replaces some, and cancels what was not filled.
type trader struct {
	cfg     *config
	number  int
	random  *rand.Rand
	orders  []*order
	lookAt  clock.Time // when to go through them next
	behind  bool       // a cancel or a replace is due and was not sent
	queryAt clock.Time
	again   map[string]clock.Time // when a class that was denied may be asked for again
	news    uint64                // of the gateway, when again was last cleared
	tally   map[string]*tally
}

// tally counts by class.
type tally struct{ sent, denied, refused int }

func newTrader(cfg *config, number int, start clock.Time) *trader {
	t := &trader{
		cfg: cfg, number: number, random: rand.New(rand.NewPCG(cfg.seed, uint64(number))),
		queryAt: start.Add(time.Duration(number) * queryEvery / time.Duration(cfg.sessions)),
		again:   map[string]clock.Time{}, tally: map[string]*tally{},
	}
	for _, m := range cfg.preset.Messages {
		t.tally[m.Class] = &tally{}
	}
	return t
}

// send hands one message to the gateway and, if it may go, to the wire. It reports
// whether it went.
func (t *trader) send(now clock.Time, s *simulation, class string, cost int64, o *order) bool {
	count := t.tally[class]
	if count == nil || now < t.again[class] {
		return false // the venue has no such message, or it is too early to ask
	}
	f, wait := s.gateway.ask(now, t.number, class, cost, o)
	if f == nil {
		count.denied++
		t.again[class] = now.Add(wait)
		return false
	}
	count.sent++
	s.exchange.send(now, f)
	return true
}

// act does what is due. Cancels come first, then replaces, and while one of them
// waits there is no new order: what cannot be taken back must not be added to.
func (t *trader) act(now clock.Time, s *simulation) {
	if t.news != s.gateway.news {
		t.news = s.gateway.news
		clear(t.again) // the venue may have counted less than we did
	}
	if now >= t.lookAt {
		t.look(now, s)
		t.lookAt = now.Add(lookEvery)
	}
	if now >= t.queryAt && t.send(now, s, classQuery, queryWeight, nil) {
		t.queryAt = now.Add(queryEvery)
	}
	for !t.behind {
		o := &order{changed: now, waiting: true}
		if !t.send(now, s, classNew, 1, o) {
			break
		}
		t.orders = append(t.orders, o)
	}
}

// look goes through the resting orders: it cancels those that are due, and then
// replaces.
func (t *trader) look(now clock.Time, s *simulation) {
	t.orders = slices.DeleteFunc(t.orders, func(o *order) bool { return o.gone })
	t.behind = false
	for _, o := range t.orders {
		if o.waiting || now < o.cancel {
			continue
		}
		o.waiting = t.send(now, s, classCancel, venue.KrakenCancelCost(t.age(now, o)), o)
		t.behind = t.behind || !o.waiting
	}
	for _, o := range t.orders {
		if o.waiting || o.replace == 0 || now < o.replace || now >= o.cancel {
			continue
		}
		if t.tally[classReplace] == nil {
			break // the venue has no replaces
		}
		if o.waiting = t.send(now, s, classReplace, venue.KrakenAmendCost(t.age(now, o)), o); o.waiting {
			o.replace = 0
		}
		t.behind = t.behind || !o.waiting
	}
}

// age is how old the venue takes an order to be, at least: where a cancel of a
// young order costs more, it must not be taken for an older one.
func (t *trader) age(now clock.Time, o *order) time.Duration {
	return now.Sub(o.changed) - t.cfg.jitter()
}

// answered takes the reply to a message into account.
func (t *trader) answered(now clock.Time, f *flight, r *reply) {
	if !r.accepted() {
		t.tally[f.class].refused++
	}
	o := f.order
	if o == nil {
		return
	}
	o.waiting = false
	switch f.class {
	case classNew:
		o.gone = r.filled || !r.accepted()
		keep := keepLeast + time.Duration(t.random.Int64N(int64(keepMost-keepLeast)))
		o.cancel = now.Add(keep)
		if t.random.IntN(4) == 0 {
			o.replace = now.Add(keep / 2)
		}
	case classReplace:
		o.changed = now
	case classCancel:
		o.gone = r.accepted()
	}
}
