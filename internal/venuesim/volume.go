package venuesim

// span is the simulated time, [start, end), cut at the horizon.
type span struct {
	begun               bool
	start, end, horizon int64
}

func (s *span) begin(at int64) { s.begun, s.start, s.end = true, at, at }

func (s *span) reach(end int64) { s.end = max(s.end, end) }

// Horizon ends the time that Volume is about: what the venue accepts at at or
// later is judged as ever but not measured, and no window that starts then is
// waited for. Call it before messages of that time arrive. Without it the time
// ends with the latest message or Advance.
func (v *Venue) Horizon(at int64) { v.horizon = at }

// Volume is how well one rule was used.
type Volume struct {
	Class string // the first that lists the rule
	Rule  string
	// Accepted is the sum of the costs of accepted messages, in tokens.
	Accepted int64
	// Most is the largest sum the rule alone would have accepted in the simulated
	// time, from an empty count: for windows the tokens times the number of
	// windows (aligned: all that the time touches, be it by a nanosecond), for
	// buckets and counters C + r·t; and what was credited. Never if unlimited.
	Most int64
}

// Share returns Accepted/Most: at most 1, and 0 if Most is 0 or there is no limit.
func (v Volume) Share() float64 {
	if v.Most == 0 || v.Most == Never {
		return 0
	}
	return float64(v.Accepted) / float64(v.Most)
}

// Volume returns the use of every rule, those of listed classes first; a rule
// shared by several classes is there once. Rules of classes that are under the
// default appear when the first message has come.
func (v *Venue) Volume() []Volume {
	var list []Volume
	for _, t := range v.tallies {
		list = append(list, v.volume(t))
	}
	return list
}

// Utilisation returns the largest share of the rules of a class: that of the
// rule which binds. It is 0 for a class without limits.
func (v *Venue) Utilisation(class string) float64 {
	best := 0.0
	for _, t := range v.of(class) {
		best = max(best, v.volume(t).Share())
	}
	return best
}

func (v *Venue) volume(t *tally) Volume {
	most := t.count.most(v.start, min(v.end, v.horizon))
	return Volume{Class: t.class, Rule: t.rule.Name, Accepted: t.accepted, Most: plus(most, t.credited)}
}
