package venuesim

import "fmt"

// Receive judges a message that arrives at a time of the venue's clock. A time
// before one already seen counts as that one.
//
// The costs are in tokens, none below zero: no cost means 1 under every rule of
// the class, one cost is that under every rule, and otherwise there is one for
// each rule in their order. A rule under which a message costs nothing neither
// counts nor refuses it, except that Deny refuses everything. Receive panics if
// the costs are of another number or negative.
//
// The message passes if every rule has room, and then counts under all of them;
// if not, it counts only where a rule counts tries.
func (v *Venue) Receive(at int64, class string, costs ...int64) Reply {
	list := v.of(class)
	cost := spread(class, costs, list)
	at = v.tick(at)
	v.reach(at + 1)
	if b := v.active(at); b != nil {
		b.hit(at)
		return Reply{Status: Banned, At: at, Rule: b.Rule, RetryAt: b.Until}
	}
	r := Reply{At: at, RetryAt: at}
	var banning *tally
	for i, t := range list {
		room := t.room(at, cost(i))
		hard := t.try(at, cost(i))
		if room && hard {
			continue
		}
		if r.Status == Accepted {
			r.Status, r.Rule = Refused, t.rule.Name
		}
		v.breach(t, class, at)
		if struck := !room && t.strike(at); banning == nil && (struck || !hard) {
			banning = t
		}
	}
	for i, t := range list {
		t.record(at, cost(i), r.Status == Accepted, at < v.horizon)
	}
	if banning != nil {
		r.Status, r.Rule = Ejected, banning.rule.Name
		r.RetryAt = v.ban(banning, class, at)
		return r
	}
	for i, t := range list {
		r.Used = append(r.Used, Usage{Rule: t.rule.Name, Used: t.count.used(at), Limit: t.rule.Capacity()})
		if r.Status == Refused {
			r.RetryAt = max(r.RetryAt, t.when(at, cost(i)))
		}
	}
	return r
}

// Earliest returns the first time from at on when the message would be accepted
// if nothing else came before it, or Never. Time passes to at; nothing counts.
// A sender that asks before each message is the ideal one. A hard limit is not
// considered.
func (v *Venue) Earliest(at int64, class string, costs ...int64) int64 {
	list := v.of(class)
	cost := spread(class, costs, list)
	at = v.tick(at)
	when := at
	for i, t := range list {
		when = max(when, t.when(at, cost(i)))
	}
	if b := v.active(at); b != nil {
		when = max(when, b.Until)
	}
	return when
}

// Credit gives back n tokens of a rule of a class, as venues do on a first fill:
// what counts now falls by n, but not below zero. It returns how many tokens
// that was. It panics on a rule that does not exist or a negative n.
func (v *Venue) Credit(at int64, class, rule string, n int64) int64 {
	t := v.find(class, rule)
	if t == nil {
		panic(fmt.Sprintf("venuesim: Credit: class %q has no rule %q; see Rules", class, rule))
	}
	if n < 0 {
		panic(fmt.Sprintf("venuesim: Credit of %d: must not be negative", n))
	}
	at = v.tick(at)
	n = t.count.credit(at, n)
	if at < v.horizon {
		t.credited = plus(t.credited, n)
	}
	return n
}

// spread returns the cost under the i-th rule.
func spread(class string, costs []int64, rules []*tally) func(i int) int64 {
	for _, n := range costs {
		if n < 0 {
			panic(fmt.Sprintf("venuesim: class %q: cost %d must not be negative; give tokens back with Credit", class, n))
		}
	}
	switch {
	case len(costs) == 0:
		return func(int) int64 { return 1 }
	case len(costs) == 1, len(rules) == 1 && rules[0].rule.Kind == Deny: // where nothing passes, costs do not matter
		return func(int) int64 { return costs[0] }
	case len(costs) == len(rules):
		return func(i int) int64 { return costs[i] }
	}
	panic(fmt.Sprintf("venuesim: class %q: %d costs for %d rules; give none, one, or one for each rule", class, len(costs), len(rules)))
}

func (t *tally) room(at, n int64) bool {
	return n == 0 && t.rule.Kind != Deny || t.count.fits(at, n)
}

func (t *tally) when(at, n int64) int64 {
	if n == 0 && t.rule.Kind != Deny {
		return at
	}
	return t.count.earliest(at, n)
}

// try counts a message against the hard limit and reports whether it is within.
func (t *tally) try(at, n int64) bool {
	if t.hard == nil || n == 0 {
		return true
	}
	within := t.hard.fits(at, n)
	t.hard.add(at, n)
	return within
}

// record counts a message that was judged.
func (t *tally) record(at, n int64, accepted, measured bool) {
	if n == 0 {
		return
	}
	if accepted || t.rule.Tries {
		t.count.add(at, n)
	}
	if accepted && measured {
		t.accepted = plus(t.accepted, n)
	}
}
