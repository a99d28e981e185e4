package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/tickgate/tickgate/internal/venuesim"
)

// use is how much of one limit was used, over all that it is kept by.
type use struct {
	limit, by      string
	keys           int
	accepted, most int64
}

func (u *use) share() float64 { return float64(u.accepted) / float64(u.most) }

// uses returns the use of each limit that counts, in the preset's order.
func (s *simulation) uses() (list []*use) {
	at := map[string]*use{}
	for _, p := range s.cfg.preset.Policies {
		for _, l := range p.Limits {
			at[l.Label()] = &use{limit: l.String(), by: s.cfg.preset.Keys[p.Endpoint]}
			list = append(list, at[l.Label()])
		}
	}
	for _, v := range s.exchange.venue.Volume() {
		if v.Most == venuesim.Never || strings.HasSuffix(v.Class, "/order.batch") {
			continue // nothing limits it, or nobody sends it
		}
		u := at[v.Rule]
		u.keys++
		u.accepted += v.Accepted
		u.most += v.Most
	}
	used := list[:0]
	for _, u := range list {
		if u.keys > 0 {
			used = append(used, u)
		}
	}
	return used
}

// breaches counts the messages that the venue refused.
func (s *simulation) breaches() (n int64) {
	for _, b := range s.exchange.venue.Breaches() {
		n += b.Count
	}
	return n
}

// totals adds up what the sessions count by class.
func (s *simulation) totals(class string) (sum tally) {
	for _, t := range s.traders {
		sum.sent += t.tally[class].sent
		sum.denied += t.tally[class].denied
		sum.refused += t.tally[class].refused
	}
	return sum
}

// report prints what happened.
func (s *simulation) report(out io.Writer) error {
	p := s.cfg.preset
	var b strings.Builder
	fmt.Fprintf(&b, "%s, as documented in %s (%s)\n", p.Venue, p.Read, p.Source)
	fmt.Fprintf(&b, "%v simulated, sessions: %d, accounts: %d, delays of %v to %v, clocks within %v\n",
		s.cfg.span, s.cfg.sessions, s.cfg.accounts, s.cfg.fastest, s.cfg.slowest, s.cfg.clockError)
	if s.cfg.naive {
		b.WriteString("naive: limits as documented, no guard, no reserve, replies not heeded\n\n")
	} else {
		fmt.Fprintf(&b, "guarded against %v of jitter, wall clock read %v ahead, a reserve for cancels, replies heeded\n\n", s.cfg.jitter(), s.cfg.ahead())
	}
	fmt.Fprintf(&b, "%-44s %8s %8s %8s\n", "MESSAGE", "SENT", "DENIED", "REFUSED")
	for _, m := range p.Messages {
		if n := s.totals(m.Class); n != (tally{}) {
			fmt.Fprintf(&b, "%-44s %8d %8d %8d\n", m.Class, n.sent, n.denied, n.refused)
		}
	}
	fmt.Fprintf(&b, "\n%-44s %8s %8s %8s  %s\n", "LIMIT", "USED", "ALLOWED", "SHARE", "KEPT BY")
	for _, u := range s.uses() {
		fmt.Fprintf(&b, "%-44s %8d %8d %7.1f%%  %s (%d)\n", u.limit, u.accepted, u.most, 100*u.share(), u.by, u.keys)
	}
	bans := s.exchange.venue.Bans()
	fmt.Fprintf(&b, "\nbreaches: %d\nbans: %d\n", s.breaches(), len(bans))
	for _, ban := range bans {
		fmt.Fprintf(&b, "banned after %.1f s for breaking %s; messages ignored since: %d\n",
			float64(ban.From-midnight.UnixNano())/1e9, ban.Rule, ban.Ignored)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
