package venuesim

// Breach is the record of all refusals by one rule.
type Breach struct {
	Class string // of the first message refused
	Rule  string
	Count int64 // messages refused or ejected; those during a ban are not among them
	First int64 // when, on the venue's clock
	Last  int64
}

// Breaches returns what rules were broken, in the order of the first time. A
// sender that keeps to every rule leaves none.
func (v *Venue) Breaches() []Breach {
	var list []Breach
	for _, b := range v.breaches {
		list = append(list, *b)
	}
	return list
}

func (v *Venue) breach(t *tally, class string, at int64) {
	if t.breach == nil {
		t.breach = &Breach{Class: class, Rule: t.rule.Name, First: at}
		v.breaches = append(v.breaches, t.breach)
	}
	t.breach.Count++
	t.breach.Last = at
}

// strike counts a refusal and reports whether it is the one that bans. Strikes
// are forgotten per after the first of them; those of Deny, which has no per, are
// not.
func (t *tally) strike(at int64) bool {
	if t.rule.Strikes == 0 {
		return false
	}
	over := t.rule.Per > 0 && at-t.struck >= int64(t.rule.Per)
	if t.strikes == 0 || over {
		t.strikes, t.struck = 0, at
	}
	if t.strikes++; t.strikes < t.rule.Strikes {
		return false
	}
	t.strikes = 0
	return true
}
