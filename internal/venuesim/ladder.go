package venuesim

import (
	"errors"
	"fmt"
)

// SetLadder gives a rule of a class another ladder, or returns every fault of it.
// It forgets strikes and starts the hard limit's count afresh. A rule shared with
// other classes changes there too. For the class "default" it holds for the
// classes that come to be later.
func (v *Venue) SetLadder(class, rule string, l Ladder) error {
	var all []error
	for _, reason := range l.faults() {
		all = append(all, fmt.Errorf("venuesim: class %q rule %q: %s", class, rule, reason))
	}
	if all != nil {
		return errors.Join(all...)
	}
	if class == defaultClass {
		for i := range v.fallback {
			if v.fallback[i].Name == rule {
				v.fallback[i].Ladder = l
				return nil
			}
		}
	} else if t := v.find(class, rule); t != nil {
		t.climb(l)
		return nil
	}
	return fmt.Errorf("venuesim: class %q has no rule %q; see Rules", class, rule)
}

// climb puts a rule on the lowest rung of a ladder.
func (t *tally) climb(l Ladder) {
	t.rule.Ladder, t.strikes, t.hard = l, 0, nil
	if l.Hard != (Limit{}) {
		t.hard = newCounter(l.Hard)
	}
}
