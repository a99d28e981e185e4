package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/tickgate/tickgate/clock"
	"github.com/tickgate/tickgate/internal/venuesim"
	"github.com/tickgate/tickgate/policy"
	"github.com/tickgate/tickgate/policy/venue"
)

// exchange is the venue: it enforces the limits of the preset to the letter, says
// in its replies what it counted, and bans who goes on after refusals.
type exchange struct {
	cfg    *config
	venue  *venuesim.Venue
	wire   *venuesim.Wire
	random *rand.Rand
	sent   map[int][]*flight // by connection; messages of one arrive in order
	next   int               // connection of the next request that has one of its own
	counts map[string][]*venuesim.Rule
	others bool // another program of ours queries from the same address
}

// otherConnection is the connection of the other program.
const otherConnection = -1

// ladder is what follows a breach, whatever the venue: three refusals by one limit
// within its period end in a ban of two minutes, the next one in a longer ban.
var ladder = venuesim.Ladder{Strikes: 3, Ban: 2 * time.Minute, Longest: 72 * time.Hour}

// headers are those in which venues say what they counted, by limit.
var headers = map[string]struct {
	header    string
	remaining bool
}{
	"weight-1m":   {header: "X-MBX-USED-WEIGHT-1M"},
	"orders-10s":  {header: "X-MBX-ORDER-COUNT-10S"},
	"orders-1d":   {header: "X-MBX-ORDER-COUNT-1D"},
	"requests-1m": {"X-RateLimit-Remaining", true},
	"orders-1s":   {"X-RateLimit-Remaining-1s", true},
	"new-1s":      {"X-Bapi-Limit-Status", true},
	"replace-1s":  {"X-Bapi-Limit-Status", true},
	"cancel-1s":   {"X-Bapi-Limit-Status", true},
	"query-1s":    {"X-Bapi-Limit-Status", true},
}

func newExchange(cfg *config, start clock.Time) (*exchange, error) {
	e := &exchange{
		cfg: cfg, random: rand.New(rand.NewPCG(cfg.seed, 1<<32)),
		sent: map[int][]*flight{}, counts: map[string][]*venuesim.Rule{},
	}
	var classes []venuesim.Class
	for session := range cfg.sessions {
		for _, m := range cfg.preset.Messages {
			classes = append(classes, e.class(session, m))
		}
	}
	query, asks := cfg.preset.Message(classQuery)
	if e.others = asks && cfg.preset.Keys[query.Draws[0].Endpoint] == "IP address"; e.others {
		classes = append(classes, e.class(cfg.sessions, query))
	}
	var err error
	if e.venue, err = venuesim.New(classes...); err != nil {
		return nil, err
	}
	// The venue's clock wanders as far as it may.
	e.wire, err = venuesim.NewWire(e.venue, venuesim.Network{
		Min: cfg.fastest, Max: cfg.slowest, Ordered: true, Seed: cfg.seed, // ordered by connection
		Clock: venuesim.Clock{Offset: -cfg.clockError, Drift: 50 * time.Microsecond, Swing: 2 * cfg.clockError, Start: int64(start)},
	})
	return e, err
}

func className(session int, class string) string { return fmt.Sprintf("%d/%s", session, class) }

// class is one class of messages of one session, under the limits of all the counts
// that it draws on. Sessions share those that the venue keeps by something they
// share.
func (e *exchange) class(session int, m venue.Message) venuesim.Class {
	c := venuesim.Class{Name: className(session, m.Class)}
	rules := venuesim.From(e.cfg.preset.Policies)
	for _, d := range m.Draws {
		count := d.Endpoint + " by " + keyOf(e.cfg, d.Endpoint, session)
		if e.counts[count] == nil {
			for _, r := range rules.Rules(d.Endpoint) {
				if r.Kind != venuesim.Unlimited {
					r.Ladder = ladder
				}
				e.counts[count] = append(e.counts[count], &r)
			}
		}
		c.Rules = append(c.Rules, e.counts[count]...)
	}
	return c
}

// send puts a message on a connection: that of its session, where the venue knows
// sessions, or one of its own, on which it overtakes others.
func (e *exchange) send(now clock.Time, f *flight) {
	connection := f.session
	if !e.cfg.connected() {
		connection = e.next
		e.next++
	}
	e.sent[connection] = append(e.sent[connection], f)
	e.wire.SendOn(connection, int64(now), className(f.session, f.class), e.costs(f.route.message, f.each)...)
}

// sendOther is a query of the other program, of which the gateway knows only what
// the venue's replies tell.
func (e *exchange) sendOther(now clock.Time) {
	query, _ := e.cfg.preset.Message(classQuery)
	each := make([]int64, len(query.Draws))
	for i, d := range query.Draws {
		each[i] = d.Tokens(queryWeight)
	}
	e.wire.SendOn(otherConnection, int64(now), className(e.cfg.sessions, classQuery), e.costs(query, each)...)
}

// costs are a message's costs by the rules of its class.
func (e *exchange) costs(m venue.Message, each []int64) (costs []int64) {
	for i, d := range m.Draws {
		counted, _ := e.cfg.preset.Policies.Lookup(d.Endpoint)
		for range counted.Limits {
			costs = append(costs, each[i])
		}
	}
	return costs
}

// arrival is a message that was answered, and when its reply is back.
type arrival struct {
	flight *flight
	reply  *reply
	back   clock.Time
}

// deliver takes in what arrives until now, and answers it.
func (e *exchange) deliver(now clock.Time) (list []arrival) {
	for _, d := range e.wire.Deliver(int64(now)) {
		if d.Session == otherConnection {
			continue // the other program reads its own replies
		}
		f := e.sent[d.Session][0]
		if e.sent[d.Session] = e.sent[d.Session][1:]; len(e.sent[d.Session]) == 0 {
			delete(e.sent, d.Session)
		}
		list = append(list, arrival{f, e.answer(f, d), clock.Time(d.Returned)})
	}
	return list
}

// answer gives back what the venue credits, and tells what it counted.
func (e *exchange) answer(f *flight, d venuesim.Delivery) *reply {
	r := &reply{status: 200, at: d.Reply.At, headers: map[string]string{}}
	switch d.Reply.Status {
	case venuesim.Refused:
		r.status = 429
	case venuesim.Ejected, venuesim.Banned:
		r.status = 418
	}
	if !r.accepted() {
		wait := time.Duration(d.Reply.RetryAt - d.Reply.At)
		r.headers["Retry-After"] = strconv.FormatInt(int64(wait/time.Second)+1, 10)
	}
	credited := map[string]int64{}
	if r.accepted() {
		e.credit(d, f.route.message.Accepted, credited)
		if r.filled = f.class == classNew && e.random.IntN(5) == 0; r.filled {
			e.credit(d, f.route.message.Filled, credited)
		}
	}
	for _, u := range d.Reply.Used {
		h, says := headers[u.Rule]
		n := u.Used - credited[u.Rule]
		if h.remaining {
			n = max(0, u.Limit-n)
		}
		if says {
			r.headers[h.header] = strconv.FormatInt(n, 10)
		}
	}
	return r
}

func (e *exchange) credit(d venuesim.Delivery, back []venue.Draw, credited map[string]int64) {
	for _, b := range back {
		counted, _ := e.cfg.preset.Policies.Lookup(b.Endpoint)
		for _, l := range counted.Limits {
			if l.Window != policy.Unlimited {
				credited[l.Label()] += e.venue.Credit(d.Reply.At, d.Class, l.Label(), b.Cost)
			}
		}
	}
}
