package promlimit

import (
	"slices"
	"sync"

	"github.com/tickgate/tickgate"
)

// decisions are the values of the label decision.
var decisions = [...]string{"allowed", "shadow_denied", "denied", "blocked"}

// counts are what a policy decided, in the order of decisions, and last what was near a
// limit.
type counts [len(decisions) + 1]uint64

func countsOf(p *tickgate.PolicyStats) counts {
	return counts{p.Allowed - min(p.Shadowed, p.Allowed), p.Shadowed, p.Denied - min(p.Barred, p.Denied), p.Barred, p.Near}
}

// places says which policies have series of their own, and adds up the others.
//
// A policy has its place for good: if it went by where the policy stands in the set, a
// new one before it would end its series, and move what it had counted to [Other]. Only
// one that is in the set no more yields its place to a new one. What is added up is what
// was counted from one scrape to the next, so it never gets less, whatever leaves the set.
type places struct {
	most int

	mu    sync.Mutex
	own   map[string]bool   // false: added up. All that were ever seen; a gate names 65,536 at most
	taken int               // how many of own are true
	seen  map[string]counts // what was told of each, added up or not
	other counts
}

func newPlaces(most int) *places {
	return &places{most: most, own: map[string]bool{}, seen: map[string]counts{}}
}

// look gives each policy that has none a place, counts on, and returns those that have
// series of their own, and what the others decided together.
func (s *places) look(all []tickgate.PolicyStats) (own map[string]counts, other counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place(all)
	own = make(map[string]counts, s.taken)
	for i := range all {
		p := &all[i]
		now, before := countsOf(p), s.seen[p.Endpoint]
		for j := range now {
			// The counters are not read at one moment, and two scrapes may pass each other.
			now[j] = max(now[j], before[j])
			if !s.own[p.Endpoint] {
				s.other[j] += now[j] - before[j]
			}
		}
		s.seen[p.Endpoint] = now
		if s.own[p.Endpoint] {
			own[p.Endpoint] = now
		}
	}
	return own, s.other
}

// place gives each policy that has none a place.
func (s *places) place(all []tickgate.PolicyStats) {
	var gone []string // of those with a place, those that are in the set no more
	looked := false
	for i := range all {
		name := all[i].Endpoint
		if _, known := s.own[name]; known {
			continue
		}
		if s.taken == s.most && !looked {
			gone, looked = s.gone(all), true
		}
		switch {
		case name == Other:
			s.own[name] = false
		case s.taken < s.most:
			s.own[name] = true
			s.taken++
		case len(gone) > 0:
			s.own[gone[0]], s.own[name] = false, true
			gone = gone[1:]
		default:
			s.own[name] = false
		}
	}
}

func (s *places) gone(all []tickgate.PolicyStats) (names []string) {
	there := make(map[string]bool, len(all))
	for i := range all {
		there[all[i].Endpoint] = true
	}
	for name, own := range s.own {
		if own && !there[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
