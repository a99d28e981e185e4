package venuesim

import (
	"errors"
	"fmt"
)

// faults returns everything wrong with the classes, nil if nothing is.
func faults(classes []Class) error {
	var all []error
	seen := map[string]bool{}
	for i, c := range classes {
		bad := func(format string, args ...any) {
			all = append(all, fmt.Errorf("venuesim: classes[%d] %q: %w", i, c.Name, fmt.Errorf(format, args...)))
		}
		switch {
		case c.Name == "":
			bad("the name must not be empty")
		case seen[c.Name]:
			bad("listed twice; keep one")
		}
		seen[c.Name] = true
		if len(c.Rules) == 0 {
			bad("no rules; list one of kind unlimited or deny if that is meant")
		}
		names := map[string]bool{}
		for j, r := range c.Rules {
			if r == nil {
				bad("rules[%d] is nil; write a rule", j)
				continue
			}
			for _, reason := range append(r.faults(), r.Ladder.faults()...) {
				bad("rules[%d] %q: %s", j, r.Name, reason)
			}
			if names[r.Name] {
				bad("rules[%d] %q: same name as another rule of the class; give it its own", j, r.Name)
			}
			names[r.Name] = true
		}
	}
	return errors.Join(all...)
}

func (r *Rule) faults() (list []string) {
	if r.Name == "" {
		list = append(list, "the name must not be empty")
	}
	return append(list, r.Limit.faults()...)
}

func (l Limit) faults() (list []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	if l.Kind > Deny {
		return []string{l.Kind.String() + " is no kind; use one of the constants"}
	}
	if l.Kind == Unlimited || l.Kind == Deny {
		add(l != Limit{Kind: l.Kind}, "%s takes no numbers; leave them out", l.Kind)
		return list
	}
	add(l.Tokens <= 0, "tokens %d must be above zero", l.Tokens)
	add(l.Per <= 0, "per %v must be above zero", l.Per)
	add(l.Burst < 0, "burst %d must not be negative; zero means the tokens", l.Burst)
	add(l.Burst > 0 && l.Kind != TokenBucket && l.Kind != Decaying, "burst %d must be left out of %s", l.Burst, l.Kind)
	add(l.Phase != 0 && l.Kind != Aligned, "phase %v must be left out of %s", l.Phase, l.Kind)
	add(l.Phase < 0 || l.Kind == Aligned && l.Per > 0 && l.Phase >= l.Per, "phase %v must be from zero to below per", l.Phase)
	return list
}

func (l Ladder) faults() (list []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			list = append(list, fmt.Sprintf("ladder: "+format, args...))
		}
	}
	if l.Hard != (Limit{}) {
		for _, reason := range l.Hard.faults() {
			add(true, "hard: %s", reason)
		}
		add(l.Hard.Kind == Unlimited || l.Hard.Kind == Deny, "hard must count; leave it out for no hard limit")
	}
	add(l.Strikes < 0, "strikes %d must not be negative; zero means that refusals never end in a ban", l.Strikes)
	add(l.Ban < 0, "ban %v must not be negative; zero means until Readmit", l.Ban)
	add(l.Longest != 0 && (l.Longest < l.Ban || l.Ban == 0), "longest %v must be at least ban, which must be set", l.Longest)
	add(l.Hard == Limit{} && l.Strikes == 0 && (l.Ban != 0 || l.Longest != 0 || l.Renew),
		"nothing leads to the ban; set hard or strikes")
	return list
}
