package venuesim

import "slices"

// Venue enforces rules on the messages it receives from one sender: an account,
// an address, or a session, whatever its rules are about.
type Venue struct {
	classes  map[string][]*tally
	tallies  []*tally // all of them, in the order they came to be
	fallback []Rule   // the rules of a class that is not listed
	now      int64
	bans     []Ban
	breaches []*Breach
	span
}

// tally is a rule at work.
type tally struct {
	rule     Rule
	class    string // the first that lists it
	count    counter
	hard     counter // nil without a hard limit
	strikes  int
	struck   int64 // time of the first of the strikes
	bans     int   // how many this rule caused
	accepted int64 // tokens, within the horizon
	credited int64
	breach   *Breach
}

// New returns a venue with these classes, or every fault of them joined. The
// rules are copied. A class named "default" is for messages of every class that
// is not listed: each such class counts by itself. Without it they are refused.
func New(classes ...Class) (*Venue, error) {
	if err := faults(classes); err != nil {
		return nil, err
	}
	v := &Venue{classes: make(map[string][]*tally), span: span{horizon: Never}}
	v.fallback = []Rule{{Name: "unknown class", Limit: Limit{Kind: Deny}}}
	at := make(map[*Rule]*tally)
	for _, c := range classes {
		if c.Name == defaultClass {
			v.fallback = nil
			for _, r := range c.Rules {
				v.fallback = append(v.fallback, *r)
			}
			continue
		}
		for _, r := range c.Rules {
			if at[r] == nil {
				at[r] = v.tally(c.Name, *r)
			}
			v.classes[c.Name] = append(v.classes[c.Name], at[r])
		}
	}
	return v, nil
}

func (v *Venue) tally(class string, r Rule) *tally {
	t := &tally{rule: r, class: class, count: newCounter(r.Limit)}
	t.climb(r.Ladder)
	v.tallies = append(v.tallies, t)
	return t
}

// of returns the rules of a class, making them for one that is not listed.
func (v *Venue) of(class string) []*tally {
	list, known := v.classes[class]
	if !known {
		for _, r := range v.fallback {
			list = append(list, v.tally(class, r))
		}
		v.classes[class] = list
	}
	return list
}

// Rules returns copies of the rules of a class, in the order of the costs.
func (v *Venue) Rules(class string) []Rule {
	var list []Rule
	for _, t := range v.of(class) {
		list = append(list, t.rule)
	}
	return list
}

// Now returns the latest time the venue has seen.
func (v *Venue) Now() int64 { return v.now }

// Advance lets time pass to at without a message. The first call of Advance,
// Receive, Earliest or Credit begins the simulated time.
func (v *Venue) Advance(at int64) { v.tick(at) }

// tick moves the venue's clock, which never goes back: a time before one already
// seen is taken as that one.
func (v *Venue) tick(at int64) int64 {
	if !v.begun {
		v.begin(at)
		v.now = at
	}
	v.now = max(v.now, at)
	v.reach(v.now)
	return v.now
}

// find returns a rule of a class by name, nil if there is none.
func (v *Venue) find(class, rule string) *tally {
	list := v.of(class)
	i := slices.IndexFunc(list, func(t *tally) bool { return t.rule.Name == rule })
	if i < 0 {
		return nil
	}
	return list[i]
}
